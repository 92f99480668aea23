#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A process that stops before each system call that could change a file (ptrace(2), seccomp(2)).

/// A system call: its number and its name.
struct test_call {
    long number;
    const char *_Nonnull name;
};

#define TEST_CALL(name) { SYS_##name, #name }
static const struct test_call test_changing_calls[] = {
#ifdef SYS_open
    TEST_CALL(open),      TEST_CALL(creat),     TEST_CALL(rename),   TEST_CALL(link),
    TEST_CALL(symlink),   TEST_CALL(unlink),    TEST_CALL(rmdir),    TEST_CALL(mkdir),
    TEST_CALL(chmod),     TEST_CALL(chown),     TEST_CALL(utimes),   TEST_CALL(futimesat),
#endif
#ifdef SYS_renameat
    TEST_CALL(renameat),
#endif
    TEST_CALL(openat),    TEST_CALL(openat2),   TEST_CALL(write),    TEST_CALL(writev),
    TEST_CALL(pwrite64),  TEST_CALL(pwritev),   TEST_CALL(pwritev2), TEST_CALL(sendfile),
    TEST_CALL(splice),    TEST_CALL(copy_file_range),                TEST_CALL(ioctl),
    TEST_CALL(fallocate), TEST_CALL(ftruncate), TEST_CALL(truncate), TEST_CALL(fsync),
    TEST_CALL(fdatasync), TEST_CALL(syncfs),    TEST_CALL(sync),     TEST_CALL(sync_file_range),
    TEST_CALL(renameat2), TEST_CALL(linkat),    TEST_CALL(symlinkat), TEST_CALL(unlinkat),
    TEST_CALL(mkdirat),   TEST_CALL(fchmod),    TEST_CALL(fchmodat), TEST_CALL(fchown),
    TEST_CALL(fchownat),  TEST_CALL(utimensat), TEST_CALL(fsetxattr), TEST_CALL(flock),
    TEST_CALL(fcntl),
};
#undef TEST_CALL
enum { test_changing_call_count = sizeof test_changing_calls / sizeof test_changing_calls[0] };

/// The name of one of those calls.
static inline const char *_Nullable test_call_name(long number) {
    for (int at = 0; at < test_changing_call_count; at++)
        if (test_changing_calls[at].number == number) return test_changing_calls[at].name;
    return NULL;
}

/// What a call that stopped would do.
struct test_stop {
    long number;
    unsigned long arguments[6];
};

/// Starts a program that waits for `test_trace`; its id, or a negative error number.
static inline pid_t test_start_traced(const char *_Nonnull program,
                                      char *_Nullable const *_Nonnull arguments,
                                      char *_Nullable const *_Nonnull environment, int output,
                                      int errors) {
    struct sock_filter filter[test_changing_call_count + 3];
    int length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int at = 0; at < test_changing_call_count; at++)
        filter[length++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)test_changing_calls[at].number,
            (unsigned char)(test_changing_call_count - at), 0);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog code = { (unsigned short)length, filter };
    pid_t child = fork();
    if (child != 0) return child < 0 ? -errno : child;
    // Only async-signal-safe calls from here on (signal-safety(7)).
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int input = open("/dev/null", O_RDONLY);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(126);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
    raise(SIGSTOP);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(124);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code, 0, 0) != 0) _exit(124);
    execve(program, arguments, environment);
    _exit(127);
}

/// Lets a program that was just started go on to its first call; 0, or a negative error number.
static inline int test_trace(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) return -ECHILD;
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK
        | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0) return -errno;
    return ptrace(PTRACE_CONT, child, NULL, NULL) == 0 ? 0 : -errno;
}

/// Waits for the next stop of a thread of the traced processes: 1 before a call, 0 when the program
/// has ended (then `status` is its wait status). Only for the thread that started it.
static inline int test_next_stop(pid_t child, pid_t *_Nonnull thread,
                                 struct test_stop *_Nonnull stop, int *_Nonnull status) {
    for (;;) {
        pid_t found = waitpid(-1, status, __WALL | __WNOTHREAD);
        if (found < 0) {
            if (errno == EINTR) continue;
            *status = -1;
            return 0;
        }
        if (!WIFSTOPPED(*status)) {
            if (found == child) return 0;
            continue;
        }
        *thread = found;
        int event = *status >> 16;
        if (event == PTRACE_EVENT_SECCOMP) {
            struct __ptrace_syscall_info info;
            if (ptrace(PTRACE_GET_SYSCALL_INFO, found, (void *)sizeof info, &info) > 0) {
                stop->number = (long)info.seccomp.nr;
                for (int at = 0; at < 6; at++) stop->arguments[at] = info.seccomp.args[at];
                return 1;
            }
        }
        int number = WSTOPSIG(*status);
        if (event != 0 || number == SIGSTOP || number == SIGTRAP || number == (SIGTRAP | 0x80))
            number = 0;
        ptrace(PTRACE_CONT, found, NULL, (void *)(long)number);
    }
}

/// Lets a thread go on.
static inline void test_go_on(pid_t thread) { ptrace(PTRACE_CONT, thread, NULL, NULL); }

/// Lets a thread carry its call out and stops it before it goes on; others that stop meanwhile wait.
static inline void test_finish_call(pid_t thread) {
    int status = 0;
    if (ptrace(PTRACE_SYSCALL, thread, NULL, NULL) != 0) return;
    while (waitpid(thread, &status, __WALL) < 0 && errno == EINTR) {}
}

/// A word of a traced thread's memory.
static inline long test_peek(pid_t thread, unsigned long address) {
    return ptrace(PTRACE_PEEKDATA, thread, (void *)address, NULL);
}
