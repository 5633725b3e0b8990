/* Scripted libnvidia-ml.so.1: what a card is (names, bus, memory, capability, MIG). */
#define _GNU_SOURCE
#include "script.h"
#include "nvml_types.h"

#define ENTER(device)                                \
    do {                                             \
        int enter_rc = nvml_enter(__func__, device); \
        if (enter_rc)                                \
            return enter_rc;                         \
    } while (0)

static int card_text(const device_t *device, const char *key, char *out, unsigned bytes)
{
    char value[VALUE_BYTES];
    if (!script_card_text(device->card, key, value))
        return NVML_NOT_SUPPORTED;
    if (strlen(value) + 1 > bytes)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(out, value);
    return NVML_SUCCESS;
}

API int nvmlDeviceGetName(device_t *device, char *out, unsigned bytes)
{
    char name[VALUE_BYTES];
    ENTER(device);
    if (device->instance == WHOLE_CARD)
        return card_text(device, "name", out, bytes);
    script_mig_name(device->card, device->instance, name);
    snprintf(out, bytes, "%s", name);
    return NVML_SUCCESS;
}

API int nvmlDeviceGetUUID(device_t *device, char *out, unsigned bytes)
{
    char uuid[VALUE_BYTES];
    ENTER(device);
    if (device->instance == WHOLE_CARD)
        return card_text(device, "uuid", out, bytes);
    script_mig_uuid(device->card, device->instance, uuid);
    snprintf(out, bytes, "%s", uuid);
    return NVML_SUCCESS;
}

API int nvmlDeviceGetSerial(device_t *device, char *out, unsigned bytes)
{
    ENTER(device);
    return card_text(device, "serial", out, bytes);
}

API int nvmlDeviceGetVbiosVersion(device_t *device, char *out, unsigned bytes)
{
    ENTER(device);
    return card_text(device, "vbios", out, bytes);
}

API int nvmlDeviceGetBoardPartNumber(device_t *device, char *out, unsigned bytes)
{
    ENTER(device);
    return card_text(device, "board_part", out, bytes);
}

API int nvmlDeviceGetInforomImageVersion(device_t *device, char *out, unsigned bytes)
{
    ENTER(device);
    return card_text(device, "inforom", out, bytes);
}

/* This function takes no buffer size: its buffer has 64 bytes by contract. */
API int nvmlDeviceGetGspFirmwareVersion(device_t *device, char *out)
{
    ENTER(device);
    return card_text(device, "gsp", out, 64);
}

API int nvmlDeviceGetIndex(device_t *device, unsigned *index)
{
    ENTER(device);
    *index = (unsigned)(device->instance == WHOLE_CARD ? device->card : device->instance);
    return NVML_SUCCESS;
}

/* Real systems number the nodes as the cards, so that is the default. */
API int nvmlDeviceGetMinorNumber(device_t *device, unsigned *minor)
{
    long long number = device ? device->card : 0;
    ENTER(device);
    script_card_number(device->card, "minor", &number);
    *minor = (unsigned)number;
    return NVML_SUCCESS;
}

static int pci_info(const device_t *device, pci_t *pci)
{
    char bus_id[VALUE_BYTES];
    long long identifier = 0;
    if (!script_card_text(device->card, "pci", bus_id))
        return NVML_NOT_SUPPORTED;
    memset(pci, 0, sizeof *pci);
    if (sscanf(bus_id, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3)
        return NVML_UNKNOWN;
    snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff,
             pci->device & 0xff);
    snprintf(pci->legacy_bus_id, sizeof pci->legacy_bus_id, "%04X:%02X:%02X.0", pci->domain & 0xffff,
             pci->bus & 0xff, pci->device & 0xff);
    script_card_number(device->card, "pci_id", &identifier);
    pci->device_id = (unsigned)identifier;
    identifier = 0;
    script_card_number(device->card, "pci_subsystem_id", &identifier);
    pci->subsystem_id = (unsigned)identifier;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetPciInfo(device_t *device, pci_t *pci)
{
    ENTER(device);
    return pci_info(device, pci);
}

API int nvmlDeviceGetPciInfo_v2(device_t *device, pci_t *pci)
{
    ENTER(device);
    return pci_info(device, pci);
}

API int nvmlDeviceGetPciInfo_v3(device_t *device, pci_t *pci)
{
    ENTER(device);
    return pci_info(device, pci);
}

static int memory_info(const device_t *device, memory_v2_t *memory)
{
    long long total = 0;
    long long used = 0;
    long long reserved = 0;
    if (device->instance != WHOLE_CARD) {
        total = script_mig_memory(device->card, device->instance);
    } else {
        if (!script_card_number(device->card, "mem_total", &total))
            return NVML_NOT_SUPPORTED;
        script_card_number(device->card, "mem_used", &used);
        script_card_number(device->card, "mem_reserved", &reserved);
    }
    memory->total = (unsigned long long)total;
    memory->used = (unsigned long long)used;
    memory->reserved = (unsigned long long)reserved;
    memory->free = (unsigned long long)(total - used - reserved);
    return NVML_SUCCESS;
}

/* The first version of this call counts what the driver reserves as used. */
API int nvmlDeviceGetMemoryInfo(device_t *device, memory_t *memory)
{
    memory_v2_t answer;
    ENTER(device);
    int rc = memory_info(device, &answer);
    if (rc)
        return rc;
    memory->total = answer.total;
    memory->free = answer.free;
    memory->used = answer.used + answer.reserved;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetMemoryInfo_v2(device_t *device, memory_v2_t *memory)
{
    ENTER(device);
    if (memory->version != (sizeof *memory | 2 << 24))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return memory_info(device, memory);
}

API int nvmlDeviceGetBAR1MemoryInfo(device_t *device, memory_t *memory)
{
    long long total = 0;
    long long used = 0;
    ENTER(device);
    if (!script_card_number(device->card, "bar1_total", &total))
        return NVML_NOT_SUPPORTED;
    script_card_number(device->card, "bar1_used", &used);
    memory->total = (unsigned long long)total;
    memory->used = (unsigned long long)used;
    memory->free = (unsigned long long)(total - used);
    return NVML_SUCCESS;
}

API int nvmlDeviceGetCudaComputeCapability(device_t *device, int *major, int *minor)
{
    char value[VALUE_BYTES];
    ENTER(device);
    if (!script_card_text(device->card, "cc", value))
        return NVML_NOT_SUPPORTED;
    return sscanf(value, "%d.%d", major, minor) == 2 ? NVML_SUCCESS : NVML_UNKNOWN;
}

API int nvmlDeviceGetMigMode(device_t *device, unsigned *current, unsigned *pending)
{
    long long mode;
    ENTER(device);
    if (device->instance != WHOLE_CARD || !script_card_number(device->card, "mig", &mode))
        return NVML_NOT_SUPPORTED;
    *current = (unsigned)mode;
    script_card_number(device->card, "mig_pending", &mode);
    *pending = (unsigned)mode;
    return NVML_SUCCESS;
}

/* A card that knows no MIG answers 0, as the real library does. */
API int nvmlDeviceGetMaxMigDeviceCount(device_t *device, unsigned *count)
{
    long long mode = 0;
    long long most = 0;
    ENTER(device);
    if (script_card_number(device->card, "mig", &mode))
        most = 7;
    script_card_number(device->card, "mig_max", &most);
    *count = (unsigned)most;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(device_t *device, unsigned index, device_t **instance)
{
    ENTER(device);
    if (device->instance != WHOLE_CARD)
        return NVML_INVALID_ARGUMENT;
    if (index >= MIG_INSTANCES)
        return NVML_INVALID_ARGUMENT;
    if (index >= (unsigned)script_mig_instances(device->card))
        return NVML_NOT_FOUND;
    *instance = nvml_handle(device->card, (int)index);
    return NVML_SUCCESS;
}

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device_t *instance, device_t **device)
{
    ENTER(instance);
    if (instance->instance == WHOLE_CARD)
        return NVML_INVALID_ARGUMENT;
    *device = nvml_handle(instance->card, WHOLE_CARD);
    return NVML_SUCCESS;
}

API int nvmlDeviceIsMigDeviceHandle(device_t *device, unsigned *answer)
{
    ENTER(device);
    *answer = device->instance != WHOLE_CARD;
    return NVML_SUCCESS;
}

static int instance_number(const device_t *device, const char *key, int otherwise, unsigned *number)
{
    char value[VALUE_BYTES];
    if (device->instance == WHOLE_CARD)
        return NVML_NOT_SUPPORTED;
    *number = (unsigned)otherwise;
    if (script_value(value, "gpu.%d.mig.%d.%s", device->card, device->instance, key))
        *number = (unsigned)strtoul(value, NULL, 0);
    return NVML_SUCCESS;
}

/* The smallest profile gets GPU instance ids from 7 on, each with the compute instance 0. */
API int nvmlDeviceGetGpuInstanceId(device_t *device, unsigned *identifier)
{
    ENTER(device);
    return instance_number(device, "gpu_instance", 7 + device->instance, identifier);
}

API int nvmlDeviceGetComputeInstanceId(device_t *device, unsigned *identifier)
{
    ENTER(device);
    return instance_number(device, "compute_instance", 0, identifier);
}

API int nvmlDeviceGetAttributes_v2(device_t *device, attributes_t *attributes)
{
    ENTER(device);
    if (device->instance == WHOLE_CARD)
        return NVML_NOT_SUPPORTED;
    memset(attributes, 0, sizeof *attributes);
    instance_number(device, "multiprocessors", 14, &attributes->multiprocessors);
    instance_number(device, "slices", 1, &attributes->gpu_instance_slices);
    attributes->compute_instance_slices = attributes->gpu_instance_slices;
    attributes->memory_mib = (unsigned long long)script_mig_memory(device->card, device->instance) >> 20;
    return NVML_SUCCESS;
}
