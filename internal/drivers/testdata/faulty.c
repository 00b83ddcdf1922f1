// A driver for tests that fails in a chosen way (FAULT) at a chosen place: PLACE 0, when it
// is loaded; 1, in its first call; 2, in clBuildProgram; 3, never. Before that it is PoCL, which
// it loads and whose table of functions it changes. It is built with
//
//	cc -shared -fPIC -DPLACE=0 '-DFAULT=abort()' -DPOCL='"libpocl.so"' faulty.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUILD_PROGRAM = 30 }; // in cl_icd.h's table of functions

#define FAIL(place)          \
	do {                     \
		if (PLACE == (place)) { \
			FAULT;           \
		}                    \
	} while (0)

typedef int (*platforms_fn)(unsigned n, void **ids, unsigned *count);

__attribute__((constructor)) static void loaded(void) { FAIL(0); }

static int build(void) {
	FAIL(2);
	return -11;
}

static void *pocl(const char *name) {
	void *lib = dlopen(POCL, RTLD_NOW);
	void *(*find)(const char *) = lib ? (void *(*)(const char *))dlsym(lib, "clGetExtensionFunctionAddress") : NULL;
	return find ? find(name) : NULL;
}

// The loader asks for the platform's suffix and extensions by this name.
int clGetPlatformInfo(void **id, unsigned param, size_t size, void *value, size_t *size_ret) {
	int (*real)(void **, unsigned, size_t, void *, size_t *) = ((void **)*id)[1];
	return real(id, param, size, value, size_ret);
}

static int platforms(unsigned n, void **ids, unsigned *count) {
	FAIL(1);
	platforms_fn real = (platforms_fn)pocl("clIcdGetPlatformIDsKHR");
	if (!real)
		return -1001;
	int r = real(n, ids, count);
	if (r == 0 && ids && PLACE == 2) {
		void **table = *(void ***)ids[0];
		uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
		uintptr_t from = (uintptr_t)(table + BUILD_PROGRAM) & ~(page - 1);
		if (mprotect((void *)from, 2 * page, PROT_READ | PROT_WRITE) == 0)
			table[BUILD_PROGRAM] = (void *)build;
	}
	return r;
}

void *clGetExtensionFunctionAddress(const char *name) {
	return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)platforms : NULL;
}
