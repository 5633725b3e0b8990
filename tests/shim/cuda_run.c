/* Scripted libcuda.so.1: modules, memory and launches. A kernel is run by this machine's processor: that
   tests the caller's plumbing only, and gpudoctor_shim_is_scripted() says so. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdint.h>

#include "cuda.h"

#define KERNELS 64
#define BLOCKS 256
#define MODULE_HANDLE ((void *)0x2000)

typedef struct {
    address_t start;
    size_t bytes;
    int ordinal;
} block_t;

static char *module_text;
static char kernels[KERNELS][64];
static int kernel_count;
static block_t blocks[BLOCKS];

/* The newest PTX ISA, times ten, that a driver of a CUDA version compiles. max_ptx=87 outranks it. */
static int newest_ptx(void)
{
    static const struct {
        int cuda;
        int ptx;
    } known[] = {
        {13030, 93}, {13020, 92}, {13010, 91}, {13000, 90}, {12090, 88}, {12080, 87},
        {12070, 86}, {12060, 85}, {12050, 85}, {12040, 84}, {12030, 83}, {12020, 82},
        {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75},
        {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70},
    };
    long long cuda = script_number("cuda", CUDA_VERSION);
    int ptx = 65;
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        if (cuda >= known[index].cuda) {
            ptx = known[index].ptx;
            break;
        }
    }
    return (int)script_number("max_ptx", ptx);
}

/* A cubin runs on its own major version, from its own minor version on. */
static int check_cubin(const unsigned char *image, int card)
{
    unsigned flags;
    int major;
    int minor;
    memcpy(&flags, image + 48, sizeof flags);
    unsigned architecture = flags & 0xff;
    if (architecture < 20 || architecture > 200)
        architecture = flags >> 8 & 0xff;
    cuda_compute_capability(card, &major, &minor);
    return (int)architecture / 10 == major && (int)architecture % 10 <= minor ? CUDA_SUCCESS
                                                                              : CUDA_NO_BINARY_FOR_GPU;
}

/* The driver's own order: a PTX version that it does not know is refused before the target is looked at. */
static int check_ptx(const char *text, int card)
{
    const char *version = strstr(text, ".version");
    const char *target = strstr(text, ".target");
    int ptx[2];
    int architecture = 0;
    int major;
    int minor;
    if (!version || sscanf(version, ".version %d.%d", &ptx[0], &ptx[1]) != 2)
        return CUDA_INVALID_PTX;
    if (!target || sscanf(target, ".target sm_%d", &architecture) != 1)
        return CUDA_INVALID_PTX;
    if (ptx[0] * 10 + ptx[1] > newest_ptx())
        return CUDA_UNSUPPORTED_PTX_VERSION;
    cuda_compute_capability(card, &major, &minor);
    return architecture > major * 10 + minor ? CUDA_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
}

static int load_module(const char *function, void **module, const void *image)
{
    int card;
    int rc = cuda_enter_context(function, &card);
    if (rc)
        return rc;
    if (!image)
        return CUDA_INVALID_VALUE;
    int cubin = !memcmp(image, "\177ELF", 4);
    rc = cubin ? check_cubin(image, card) : check_ptx(image, card);
    if (rc)
        return rc;
    free(module_text);
    module_text = cubin ? NULL : strdup(image);
    *module = MODULE_HANDLE;
    return CUDA_SUCCESS;
}

API int cuModuleLoadData(void **module, const void *image)
{
    return load_module(__func__, module, image);
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return load_module(__func__, module, image);
}

API int cuModuleUnload(void *module)
{
    int card;
    (void)module;
    ENTER_CONTEXT(&card);
    return CUDA_SUCCESS;
}

/* Only what the PTX itself declares with ".entry NAME" can be found. */
static int is_declared(const char *name)
{
    const char *at = module_text;
    while (at && (at = strstr(at, ".entry")) != NULL) {
        at += strlen(".entry");
        const char *word = at + strspn(at, " \t\n");
        size_t length = strlen(name);
        if (!strncmp(word, name, length) && !isalnum((unsigned char)word[length]) && word[length] != '_')
            return 1;
    }
    return 0;
}

API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    int card;
    (void)module;
    ENTER_CONTEXT(&card);
    if (!is_declared(name))
        return CUDA_NOT_FOUND;
    if (kernel_count == KERNELS)
        return CUDA_OUT_OF_MEMORY;
    snprintf(kernels[kernel_count], sizeof *kernels, "%s", name);
    *function = kernels[kernel_count++];
    return CUDA_SUCCESS;
}

API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    int card;
    ENTER_CONTEXT(&card);
    cuda_memory(free_bytes, total_bytes);
    return CUDA_SUCCESS;
}

API int cuMemAlloc_v2(address_t *address, size_t bytes)
{
    size_t free_bytes;
    size_t total_bytes;
    int card;
    ENTER_CONTEXT(&card);
    if (!bytes)
        return CUDA_INVALID_VALUE;
    cuda_memory(&free_bytes, &total_bytes);
    if (bytes > free_bytes)
        return CUDA_OUT_OF_MEMORY;
    for (int index = 0; index < BLOCKS; index++) {
        if (blocks[index].start)
            continue;
        blocks[index].start = (address_t)(uintptr_t)malloc(bytes);
        blocks[index].bytes = bytes;
        blocks[index].ordinal = cuda_current_ordinal();
        *address = blocks[index].start;
        return *address ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
    }
    return CUDA_OUT_OF_MEMORY;
}

/* The block that holds this address, or NULL. */
static block_t *find_block(address_t address)
{
    for (int index = 0; index < BLOCKS; index++) {
        block_t *block = &blocks[index];
        if (block->start && address >= block->start && address < block->start + block->bytes)
            return block;
    }
    return NULL;
}

API int cuMemFree_v2(address_t address)
{
    int card;
    ENTER_CONTEXT(&card);
    block_t *block = find_block(address);
    if (!block)
        return CUDA_INVALID_VALUE;
    free((void *)(uintptr_t)block->start);
    memset(block, 0, sizeof *block);
    return CUDA_SUCCESS;
}

static int has_room(address_t address, size_t bytes)
{
    const block_t *block = find_block(address);
    return block && address + bytes <= block->start + block->bytes;
}

API int cuMemcpyHtoD_v2(address_t to, const void *from, size_t bytes)
{
    int card;
    ENTER_CONTEXT(&card);
    if (!has_room(to, bytes))
        return CUDA_INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

API int cuMemcpyDtoH_v2(void *to, address_t from, size_t bytes)
{
    int card;
    ENTER_CONTEXT(&card);
    if (!has_room(from, bytes))
        return CUDA_INVALID_VALUE;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

API int cuMemsetD8_v2(address_t address, unsigned char value, size_t bytes)
{
    int card;
    ENTER_CONTEXT(&card);
    if (!has_room(address, bytes))
        return CUDA_INVALID_VALUE;
    memset((void *)(uintptr_t)address, value, bytes);
    return CUDA_SUCCESS;
}

/* Attribute 2 is the memory's kind (2 = device), 8 whether it is managed (managed=1), 9 the device's ordinal.
   pointer_needs_context=1: only a thread with a context is answered. */
API int cuPointerGetAttribute(void *answer, int attribute, address_t address)
{
    int card;
    ENTER();
    if (script_number("pointer_needs_context", 0))
        ENTER_CONTEXT(&card);
    const block_t *block = find_block(address);
    if (!block)
        return CUDA_INVALID_VALUE;
    if (attribute == 2)
        *(unsigned *)answer = 2;
    else if (attribute == 8)
        *(unsigned *)answer = (unsigned)script_number("managed", 0);
    else if (attribute == 9)
        *(int *)answer = block->ordinal;
    else
        return CUDA_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* gd_saxpy(float a, float *x, float *y, u32 n): y = a * x + y. corrupt=1 spoils one element. */
static int run_saxpy(void **arguments, unsigned threads)
{
    float a = *(float *)arguments[0];
    address_t x = *(address_t *)arguments[1];
    address_t y = *(address_t *)arguments[2];
    unsigned n = *(unsigned *)arguments[3];
    unsigned last = n < threads ? n : threads;
    if (!has_room(x, n * sizeof(float)) || !has_room(y, n * sizeof(float)))
        return 700;
    const float *from = (const float *)(uintptr_t)x;
    float *to = (float *)(uintptr_t)y;
    for (unsigned index = 0; index < last; index++)
        to[index] = a * from[index] + to[index];
    if (last && script_number("corrupt", 0))
        to[last / 2] += 1.0f;
    return CUDA_SUCCESS;
}

API int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                       void **arguments, void **extra)
{
    int card;
    (void)shared_bytes;
    (void)stream;
    (void)extra;
    ENTER_CONTEXT(&card);
    const char *name = function;
    if (!name || name < kernels[0] || name >= kernels[0] + sizeof kernels)
        return CUDA_INVALID_HANDLE;
    if (block_x * block_y * block_z > 1024 || !grid_x || !grid_y || !grid_z)
        return CUDA_INVALID_VALUE;
    if (!strcmp(name, "gd_saxpy"))
        return run_saxpy(arguments, grid_x * block_x);
    return CUDA_NOT_SUPPORTED;
}
