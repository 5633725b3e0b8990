/* Codes and shared state of the scripted CUDA driver library. */
#ifndef GPUDOCTOR_CUDA_H
#define GPUDOCTOR_CUDA_H

#include <stddef.h>

#include "script.h"

#define WHOLE_CARD (-1)

typedef unsigned long long address_t;

typedef struct {
    int card;
    int instance; /* WHOLE_CARD, or the MIG instance that stands for the card */
} cuda_device_t;

/* The devices that this process sees, in the order of their ordinals. Defined in cuda_devices.c. */
extern cuda_device_t cuda_visible[SCRIPT_CARDS];
extern int cuda_visible_count;

enum {
    CUDA_SUCCESS = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEVICE_UNAVAILABLE = 46,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_IMAGE = 200,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NO_BINARY_FOR_GPU = 209,
    CUDA_INVALID_PTX = 218,
    CUDA_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_SUPPORTED = 801
};

/* Fill the list of visible devices. Defined in cuda_devices.c. */
void cuda_find_visible(void);

/* The UUID of a device as text, and any such text as 16 bytes. Defined in cuda_devices.c. */
void cuda_device_uuid(const cuda_device_t *device, char *uuid);
void cuda_uuid_bytes(const char *text, unsigned char *bytes);

/* Begin a call: 0, or the code that it must return at once. Defined in cuda.c. */
int cuda_enter(const char *function);

/* Begin a call about one device. Defined in cuda.c. */
int cuda_enter_device(const char *function, int ordinal);

/* Begin a call about the current context's device, whose card is written. Defined in cuda_context.c. */
int cuda_enter_context(const char *function, int *card);

/* Compute capability of a card, 8.0 when the script has none. Defined in cuda.c. */
void cuda_compute_capability(int card, int *major, int *minor);

/* Bytes of a device. Defined in cuda.c. */
void cuda_device_memory(int ordinal, size_t *free_bytes, size_t *total_bytes);

/* Bytes and ordinal of the current context's device. Defined in cuda_context.c. */
void cuda_memory(size_t *free_bytes, size_t *total_bytes);
int cuda_current_ordinal(void);

#define ENTER()                              \
    do {                                     \
        int enter_rc = cuda_enter(__func__); \
        if (enter_rc)                        \
            return enter_rc;                 \
    } while (0)

#define ENTER_DEVICE(ordinal)                                \
    do {                                                     \
        int enter_rc = cuda_enter_device(__func__, ordinal); \
        if (enter_rc)                                        \
            return enter_rc;                                 \
    } while (0)

#define ENTER_CONTEXT(card)                                \
    do {                                                   \
        int enter_rc = cuda_enter_context(__func__, card); \
        if (enter_rc)                                      \
            return enter_rc;                               \
    } while (0)

#endif
