/* What Rust's standard library asks of bcryptprimitives.dll, which Wine before version 9 does not have. */
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *bytes, unsigned long length);

int __stdcall ProcessPrng(unsigned char *bytes, size_t length) {
    return SystemFunction036(bytes, (unsigned long)length);
}
