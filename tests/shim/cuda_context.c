/* Scripted libcuda.so.1: contexts. One per device, current in one thread at a time as in the real library. */
#define _GNU_SOURCE
#include "cuda.h"

#define CONTEXT_BASE 0x1000

static __thread int current = -1;

int cuda_enter_context(const char *function, int *card)
{
    int rc = cuda_enter(function);
    if (rc)
        return rc;
    if (current < 0)
        return CUDA_INVALID_CONTEXT;
    *card = cuda_visible[current].card;
    return script_card_fault(*card, function);
}

int cuda_current_ordinal(void)
{
    return current;
}

void cuda_memory(size_t *free_bytes, size_t *total_bytes)
{
    cuda_device_memory(current, free_bytes, total_bytes);
}

/* Compute mode 2 allows no context, mode 3 one process: with a scripted process on the card it is taken. */
static int card_is_closed(int card)
{
    char processes[VALUE_BYTES];
    long long mode = 0;
    script_card_number(card, "compute_mode", &mode);
    return mode == 2 || (mode == 3 && script_card_text(card, "processes", processes) && *processes);
}

static void *context_handle(int ordinal)
{
    return (void *)(size_t)(CONTEXT_BASE + ordinal);
}

static int create_context(const char *function, void **context, int device, int make_current)
{
    int rc = cuda_enter_device(function, device);
    if (rc)
        return rc;
    if (card_is_closed(cuda_visible[device].card))
        return CUDA_DEVICE_UNAVAILABLE;
    *context = context_handle(device);
    if (make_current)
        current = device;
    return CUDA_SUCCESS;
}

API int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    return create_context(__func__, context, device, 1);
}

API int cuDevicePrimaryCtxRetain(void **context, int device)
{
    return create_context(__func__, context, device, 0);
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER_DEVICE(device);
    return CUDA_SUCCESS;
}

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER_DEVICE(device);
    *flags = 0;
    *active = current == device;
    return CUDA_SUCCESS;
}

API int cuCtxDestroy_v2(void *context)
{
    (void)context;
    ENTER();
    current = -1;
    return CUDA_SUCCESS;
}

API int cuCtxSetCurrent(void *context)
{
    ENTER();
    size_t ordinal = (size_t)context - CONTEXT_BASE;
    if (context && ordinal >= (size_t)cuda_visible_count)
        return CUDA_INVALID_CONTEXT;
    current = context ? (int)ordinal : -1;
    return CUDA_SUCCESS;
}

API int cuCtxGetCurrent(void **context)
{
    ENTER();
    *context = current < 0 ? NULL : context_handle(current);
    return CUDA_SUCCESS;
}

API int cuCtxPopCurrent_v2(void **context)
{
    int card;
    ENTER_CONTEXT(&card);
    if (context)
        *context = context_handle(current);
    current = -1;
    return CUDA_SUCCESS;
}

API int cuCtxGetDevice(int *device)
{
    int card;
    ENTER_CONTEXT(&card);
    *device = current;
    return CUDA_SUCCESS;
}

API int cuCtxSynchronize(void)
{
    int card;
    ENTER_CONTEXT(&card);
    return CUDA_SUCCESS;
}
