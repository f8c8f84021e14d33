// Stands in for Valgrind's header when the fuzzing server is built with USE_VALGRIND: what the server tells Valgrind about its
// memory contexts and shared buffers is told to AddressSanitizer. So the end of every palloc'd chunk is checked to the
// byte, and so are freed chunks and pages that are not pinned.
#ifndef OUTBOX_FUZZ_MEMCHECK_H
#define OUTBOX_FUZZ_MEMCHECK_H

#include <sanitizer/asan_interface.h>

#define VALGRIND_MAKE_MEM_NOACCESS(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define VALGRIND_MAKE_MEM_DEFINED(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define VALGRIND_MAKE_MEM_UNDEFINED(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define VALGRIND_MEMPOOL_ALLOC(pool, address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)

// Whether memory has been written to is not what AddressSanitizer checks; freed chunks are poisoned where the server wipes them.
#define VALGRIND_CHECK_MEM_IS_DEFINED(address, size) ((void)0)
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed) ((void)0)
#define VALGRIND_DESTROY_MEMPOOL(pool) ((void)0)
#define VALGRIND_MEMPOOL_FREE(pool, address) ((void)0)
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size) ASAN_UNPOISON_MEMORY_REGION(to, size)
#define VALGRIND_MEMPOOL_TRIM(pool, address, size) ((void)0)

#define RUNNING_ON_VALGRIND 0
#define VALGRIND_COUNT_ERRORS 0
#define VALGRIND_PRINTF(...) ((void)0)

#endif
