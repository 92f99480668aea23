#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Tells ThreadSanitizer of two orders that Swift's libraries keep and that it does not see, because
// they are not built with it: what such an order protects then looks like a race.
//
// 1. A Mutex that is free is taken and given back by one atomic operation that is compiled into the
//    program. One that others wait for goes from thread to thread inside of libswiftSynchronization
//    (futex(2), FUTEX_LOCK_PI): giving back comes before the next taking.
// 2. A continuation that is resumed before its task has got to waiting for it lets the task go on at
//    once. The runtime says that the resuming ends what came before it, and, in this one case, not
//    that the task begins after it. A task gives back a piece of its memory after each asynchronous
//    call: that is where it is said here.
//
// Linked into a program, these functions take the place of the libraries', call them, and say what
// happened. Controls (control.swift) show that both are needed and that a race is still one.

#define SWIFT __attribute__((swiftcall))
#define HANDLE __attribute__((swift_context)) void *handle
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define DEALLOCATE "swift_task_dealloc"

void __tsan_acquire(void *address);
void __tsan_release(void *address);
SWIFT void *swift_task_getCurrent(void);

static SWIFT void (*lock)(uint32_t state, HANDLE);
static SWIFT bool (*try_lock)(HANDLE);
static SWIFT void (*unlock)(HANDLE);
static SWIFT void (*deallocate)(void *memory);

// Before any Swift code runs, which is when a program has one thread.
__attribute__((constructor)) static void find_originals(void) {
    lock = dlsym(RTLD_NEXT, LOCK);
    try_lock = dlsym(RTLD_NEXT, TRY_LOCK);
    unlock = dlsym(RTLD_NEXT, UNLOCK);
    deallocate = dlsym(RTLD_NEXT, DEALLOCATE);
}

SWIFT void visible_lock(uint32_t state, HANDLE) __asm__(LOCK);
SWIFT bool visible_try_lock(HANDLE) __asm__(TRY_LOCK);
SWIFT void visible_unlock(HANDLE) __asm__(UNLOCK);
SWIFT void visible_deallocate(void *memory) __asm__(DEALLOCATE);

SWIFT void visible_lock(uint32_t state, HANDLE) {
    lock(state, handle);
    __tsan_acquire(handle);
}

SWIFT bool visible_try_lock(HANDLE) {
    bool has_it = try_lock(handle);
    if (has_it) __tsan_acquire(handle);
    return has_it;
}

SWIFT void visible_unlock(HANDLE) {
    __tsan_release(handle);
    unlock(handle);
}

// The runtime names the task by its address when it says that a resuming ends something.
SWIFT void visible_deallocate(void *memory) {
    __tsan_acquire(swift_task_getCurrent());
    deallocate(memory);
}
