/* A library that never gets as far as being loaded: its constructor crashes, hangs or floods stderr.
   Built with -DFAULT_CRASH, -DFAULT_HANG or -DFAULT_FLOOD_BYTES=N. */
#include <signal.h>
#include <unistd.h>

__attribute__((constructor)) static void at_load(void)
{
#ifdef FAULT_CRASH
    raise(SIGSEGV);
#endif
#ifdef FAULT_HANG
    for (;;)
        pause();
#endif
#ifdef FAULT_FLOOD_BYTES
    static const char line[] = "scripted library: this line is repeated until the flood is over ........\n";
    for (long left = FAULT_FLOOD_BYTES; left > 0;) {
        ssize_t written =
            write(STDERR_FILENO, line, left < (long)sizeof line - 1 ? (size_t)left : sizeof line - 1);
        if (written < 0)
            return;
        left -= written;
    }
#endif
}
