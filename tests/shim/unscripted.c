/* Exports every function that the library's header has and no other source here defines. Such a function obeys
   the script as all do (rc., hang., crash., log=) and else answers "not supported": it never pretends. */
#include "script.h"

/* A definition in another source outranks a weak one. */
#define UNSCRIPTED(name)                                    \
    __attribute__((weak)) API int name(void);               \
    int name(void)                                          \
    {                                                       \
        int fault = script_fault(#name);                    \
        return fault ? fault : UNSCRIPTED_CODE;             \
    }

#include "unscripted.inc"
