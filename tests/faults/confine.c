/* Run a command that may not make some system calls: `confine ERRNO NUMBER[,NUMBER...] COMMAND...`.

   A call with one of these numbers returns the error and does nothing, as under the seccomp filter of a container. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST_CALLS 64

int main(int argc, char **argv)
{
    struct sock_filter filter[2 * MOST_CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    if (argc < 4)
        return 120;
    unsigned refusal = SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1]);
    for (char *word = strtok(argv[2], ","); word && length < 2 * MOST_CALLS; word = strtok(NULL, ",")) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(word), 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("no filter");
        return 120;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
