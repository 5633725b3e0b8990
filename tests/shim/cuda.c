/* Scripted libcuda.so.1: start and devices. Contexts are in cuda_context.c, modules, memory and kernels in
   cuda_run.c, error texts in cuda_errors.c, what CUDA_VISIBLE_DEVICES leaves in cuda_devices.c.
   See README.md for the script's keys. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "cuda.h"

/* Where the real library holds its version. The text around the version is what a reader of the bytes looks
   for: the bare number is no sign, because the real library also holds the numbers of other drivers. */
static const char profiles[] __attribute__((used)) =
    "/etc/nvidia/nvidia-application-profiles-rc:/etc/nvidia/nvidia-application-profiles-rc.d/:"
    "/usr/share/nvidia/nvidia-application-profiles-" DRIVER_VERSION "-rc:"
    "/usr/share/nvidia/nvidia-application-profiles-rc";
static const char pkcs11[] __attribute__((used)) = "libnvidia-pkcs11.so." DRIVER_VERSION;
static const char own_version[] __attribute__((used)) = DRIVER_VERSION;
static const char other_driver[] __attribute__((used)) = "535.54.02";

static int initialised;

/* Say that no GPU is behind this library: whatever it "ran" was run by the processor of this machine. */
API int gpudoctor_shim_is_scripted(void)
{
    return 1;
}

int cuda_enter(const char *function)
{
    int fault = script_fault(function);
    if (fault)
        return fault;
    return initialised ? CUDA_SUCCESS : CUDA_NOT_INITIALIZED;
}

int cuda_enter_device(const char *function, int ordinal)
{
    int rc = cuda_enter(function);
    if (rc)
        return rc;
    if (ordinal < 0 || ordinal >= cuda_visible_count)
        return CUDA_INVALID_DEVICE;
    return script_card_fault(cuda_visible[ordinal].card, function);
}

void cuda_compute_capability(int card, int *major, int *minor)
{
    char value[VALUE_BYTES];
    *major = 8;
    *minor = 0;
    if (script_card_text(card, "cc", value))
        sscanf(value, "%d.%d", major, minor);
}

void cuda_device_memory(int ordinal, size_t *free_bytes, size_t *total_bytes)
{
    const cuda_device_t *device = &cuda_visible[ordinal];
    long long total = 1LL << 34;
    long long used = 0;
    if (device->instance != WHOLE_CARD) {
        total = script_mig_memory(device->card, device->instance);
    } else {
        script_card_number(device->card, "mem_total", &total);
        script_card_number(device->card, "mem_used", &used);
    }
    *total_bytes = (size_t)total;
    *free_bytes = (size_t)(total - used);
}

API int cuInit(unsigned flags)
{
    int fault = script_fault(__func__);
    if (fault)
        return fault;
    if (flags)
        return CUDA_INVALID_VALUE;
    cuda_find_visible();
    if (!cuda_visible_count)
        return CUDA_NO_DEVICE;
    initialised = 1;
    return CUDA_SUCCESS;
}

/* Works before cuInit and without a driver, as in the real library. */
API int cuDriverGetVersion(int *version)
{
    int fault = script_fault(__func__);
    if (fault)
        return fault;
    *version = (int)script_number("cuda", CUDA_VERSION);
    return CUDA_SUCCESS;
}

API int cuDeviceGetCount(int *count)
{
    ENTER();
    *count = cuda_visible_count;
    return CUDA_SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal)
{
    ENTER_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

API int cuDeviceGetName(char *name, int bytes, int device)
{
    char value[VALUE_BYTES];
    ENTER_DEVICE(device);
    if (cuda_visible[device].instance != WHOLE_CARD)
        script_mig_name(cuda_visible[device].card, cuda_visible[device].instance, value);
    else if (!script_card_text(cuda_visible[device].card, "name", value))
        snprintf(value, sizeof value, "Scripted GPU");
    snprintf(name, (size_t)bytes, "%s", value);
    return CUDA_SUCCESS;
}

/* The first version answers the card's UUID, the second that of the MIG instance where there is one. */
API int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    char text[VALUE_BYTES];
    ENTER_DEVICE(device);
    cuda_device_t card = {cuda_visible[device].card, WHOLE_CARD};
    cuda_device_uuid(&card, text);
    cuda_uuid_bytes(text, uuid);
    return CUDA_SUCCESS;
}

API int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    char text[VALUE_BYTES];
    ENTER_DEVICE(device);
    cuda_device_uuid(&cuda_visible[device], text);
    cuda_uuid_bytes(text, uuid);
    return CUDA_SUCCESS;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    size_t free_bytes;
    ENTER_DEVICE(device);
    cuda_device_memory(device, &free_bytes, bytes);
    return CUDA_SUCCESS;
}

/* Bus, device and domain, in this order. */
static void bus_numbers(int card, unsigned *numbers)
{
    char value[VALUE_BYTES];
    memset(numbers, 0, 3 * sizeof *numbers);
    if (script_card_text(card, "pci", value))
        sscanf(value, "%x:%x:%x", &numbers[2], &numbers[0], &numbers[1]);
}

/* What a data-centre card answers, by the numbers of CUdevice_attribute; 0 for all others. */
static long long attribute_default(int attribute)
{
    static const struct {
        int attribute;
        long long number;
    } known[] = {
        {1, 1024},       /* threads per block */
        {2, 1024},       {3, 1024},  {4, 64},              /* threads per block, by dimension */
        {5, 2147483647}, {6, 65535}, {7, 65535},           /* blocks per grid, by dimension */
        {8, 49152},      /* bytes of shared memory per block */
        {10, 32},        /* warp size */
        {12, 65536},     /* registers per block */
        {13, 1410000},   /* clock in kHz */
        {16, 108},       /* multiprocessors */
        {36, 1215000},   /* clock of the memory in kHz */
        {37, 5120},      /* bits of the memory bus */
        {38, 41943040},  /* bytes of L2 cache */
        {39, 2048},      /* threads per multiprocessor */
        {41, 1},         /* unified addressing */
        {81, 167936},    /* bytes of shared memory per multiprocessor */
        {82, 65536},     /* registers per multiprocessor */
        {97, 166912},    /* bytes of shared memory per block that opts in */
        {102, 1},        /* virtual memory management */
        {106, 32},       /* blocks per multiprocessor */
        {115, 1},        /* memory pools */
    };
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        if (known[index].attribute == attribute)
            return known[index].number;
    }
    return 0;
}

/* Computed where the script already says it, else gpu.N.attr.NUMBER, else a plausible constant. */
API int cuDeviceGetAttribute(int *answer, int attribute, int device)
{
    char key[KEY_BYTES];
    unsigned bus[3];
    int capability[2];
    ENTER_DEVICE(device);
    int card = cuda_visible[device].card;
    long long number = attribute_default(attribute);
    bus_numbers(card, bus);
    cuda_compute_capability(card, &capability[0], &capability[1]);
    if (attribute == 75 || attribute == 76)
        number = capability[attribute - 75];
    else if (attribute == 33 || attribute == 34)
        number = bus[attribute - 33];
    else if (attribute == 50)
        number = bus[2];
    else if (attribute == 20)
        script_card_number(card, "compute_mode", &number);
    else if (attribute == 32)
        script_card_number(card, "ecc", &number);
    snprintf(key, sizeof key, "attr.%d", attribute);
    script_card_number(card, key, &number);
    *answer = (int)number;
    return CUDA_SUCCESS;
}

API int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    ENTER_DEVICE(device);
    cuda_compute_capability(cuda_visible[device].card, major, minor);
    return CUDA_SUCCESS;
}

API int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
    unsigned bus[3];
    ENTER_DEVICE(device);
    bus_numbers(cuda_visible[device].card, bus);
    snprintf(text, (size_t)bytes, "%04X:%02X:%02X.0", bus[2], bus[0], bus[1]);
    return CUDA_SUCCESS;
}

API int cuDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned asked[3];
    unsigned bus[3];
    ENTER();
    if (sscanf(text, "%x:%x:%x", &asked[2], &asked[0], &asked[1]) != 3)
        return CUDA_INVALID_VALUE;
    for (int ordinal = 0; ordinal < cuda_visible_count; ordinal++) {
        bus_numbers(cuda_visible[ordinal].card, bus);
        if (memcmp(asked, bus, sizeof bus))
            continue;
        *device = ordinal;
        return CUDA_SUCCESS;
    }
    return CUDA_INVALID_DEVICE;
}

/* Find a function of this library by the name that cuGetProcAddress is asked for: without its suffix. */
static void *own_symbol(const char *name)
{
    static const char *const suffixes[] = {"_v2", ""};
    char symbol[KEY_BYTES];
    Dl_info info;
    if (!dladdr((void *)cuInit, &info))
        return NULL;
    void *library = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NOW);
    for (size_t index = 0; library && index < 2; index++) {
        snprintf(symbol, sizeof symbol, "%s%s", name, suffixes[index]);
        void *address = dlsym(library, symbol);
        if (address)
            return address;
    }
    return NULL;
}

API int cuGetProcAddress_v2(const char *name, void **address, int version, address_t flags, int *status)
{
    (void)version;
    (void)flags;
    int fault = script_fault(__func__);
    if (fault)
        return fault;
    *address = own_symbol(name);
    if (status)
        *status = *address ? 0 : 1;
    return *address ? CUDA_SUCCESS : CUDA_NOT_FOUND;
}

API int cuGetProcAddress(const char *name, void **address, int version, address_t flags)
{
    return cuGetProcAddress_v2(name, address, version, flags, NULL);
}
