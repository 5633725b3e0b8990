/* Scripted libnvidia-ml.so.1: how a card is doing (modes, links, errors, clocks, processes, fabric).
   A key that the script leaves out is answered with "Not Supported", as on a card that has no such thing. */
#define _GNU_SOURCE
#include "script.h"
#include "nvml_types.h"

#define ENTER(device)                                \
    do {                                             \
        int enter_rc = nvml_enter(__func__, device); \
        if (enter_rc)                                \
            return enter_rc;                         \
    } while (0)

/* What belongs to the whole card is not offered for one of its MIG instances. */
static int card_number(const device_t *device, const char *key, unsigned long long *number)
{
    long long value;
    if (device->instance != WHOLE_CARD || !script_card_number(device->card, key, &value))
        return NVML_NOT_SUPPORTED;
    *number = (unsigned long long)value;
    return NVML_SUCCESS;
}

/* Define a function that answers one number of the script. */
#define NUMBER(name, type, key)                     \
    API int name(device_t *device, type *answer)    \
    {                                               \
        unsigned long long number = 0;              \
        ENTER(device);                              \
        int rc = card_number(device, key, &number); \
        if (!rc)                                    \
            *answer = (type)number;                 \
        return rc;                                  \
    }

NUMBER(nvmlDeviceGetArchitecture, unsigned, "arch")
NUMBER(nvmlDeviceGetBrand, unsigned, "brand")
NUMBER(nvmlDeviceGetBoardId, unsigned, "board_id")
NUMBER(nvmlDeviceGetModuleId, unsigned, "module_id")
NUMBER(nvmlDeviceGetNumaNodeId, unsigned, "numa")
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, "persistence")
NUMBER(nvmlDeviceGetComputeMode, unsigned, "compute_mode")
NUMBER(nvmlDeviceGetDisplayActive, unsigned, "display")
NUMBER(nvmlDeviceGetDisplayMode, unsigned, "display_mode")
NUMBER(nvmlDeviceGetPerformanceState, unsigned, "performance_state")
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_default_limit")
NUMBER(nvmlDeviceGetFanSpeed, unsigned, "fan")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_gen")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_gen_max")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned, "pcie_gen_device_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, unsigned, "retired_pending")
NUMBER(nvmlDeviceGetNumGpuCores, unsigned, "cores")
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned, "memory_bus_width")
NUMBER(nvmlDeviceGetVirtualizationMode, unsigned, "virtualization")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "throttle")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "throttle")
NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, "throttle_supported")
NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, "throttle_supported")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy")

/* Define a function whose answer depends on one number of the caller: gpu.N.PREFIX.NUMBER. */
#define INDEXED(name, type, prefix)                              \
    API int name(device_t *device, unsigned index, type *answer) \
    {                                                            \
        char key[KEY_BYTES];                                     \
        unsigned long long number = 0;                           \
        ENTER(device);                                           \
        snprintf(key, sizeof key, "%s.%u", prefix, index);       \
        int rc = card_number(device, key, &number);              \
        if (!rc)                                                 \
            *answer = (type)number;                              \
        return rc;                                               \
    }

INDEXED(nvmlDeviceGetClockInfo, unsigned, "clock")
INDEXED(nvmlDeviceGetMaxClockInfo, unsigned, "clock_max")
INDEXED(nvmlDeviceGetTemperatureThreshold, unsigned, "temp_threshold")
INDEXED(nvmlDeviceGetNvLinkState, unsigned, "nvlink")
INDEXED(nvmlDeviceGetNvLinkVersion, unsigned, "nvlink_version")

API int nvmlDeviceGetNvLinkErrorCounter(device_t *device, unsigned link, unsigned counter,
                                        unsigned long long *answer)
{
    char key[KEY_BYTES];
    ENTER(device);
    snprintf(key, sizeof key, "nvlink_errors.%u.%u", link, counter);
    return card_number(device, key, answer);
}

API int nvmlDeviceGetNvLinkRemotePciInfo_v2(device_t *device, unsigned link, pci_t *pci)
{
    (void)link;
    (void)pci;
    ENTER(device);
    return NVML_NOT_SUPPORTED;
}

API int nvmlDeviceGetTemperature(device_t *device, unsigned sensor, unsigned *celsius)
{
    unsigned long long number = 0;
    (void)sensor;
    ENTER(device);
    int rc = card_number(device, "temp", &number);
    if (!rc)
        *celsius = (unsigned)number;
    return rc;
}

API int nvmlDeviceGetTemperatureV(device_t *device, temperature_t *temperature)
{
    unsigned long long number = 0;
    ENTER(device);
    if (temperature->version != (sizeof *temperature | 1 << 24))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    int rc = card_number(device, "temp", &number);
    if (!rc)
        temperature->celsius = (int)number;
    return rc;
}

API int nvmlDeviceGetUtilizationRates(device_t *device, utilisation_t *utilisation)
{
    char value[VALUE_BYTES];
    ENTER(device);
    if (device->instance != WHOLE_CARD || !script_card_text(device->card, "util", value))
        return NVML_NOT_SUPPORTED;
    if (sscanf(value, "%u,%u", &utilisation->gpu_percent, &utilisation->memory_percent) != 2)
        return NVML_UNKNOWN;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetEccMode(device_t *device, unsigned *current, unsigned *pending)
{
    long long mode;
    ENTER(device);
    if (!script_card_number(device->card, "ecc", &mode))
        return NVML_NOT_SUPPORTED;
    *current = (unsigned)mode;
    script_card_number(device->card, "ecc_pending", &mode);
    *pending = (unsigned)mode;
    return NVML_SUCCESS;
}

/* Key ecc.TYPE.COUNTER: type 0 corrected, 1 uncorrected; counter 0 since the last start, 1 ever.
   A card whose ECC is on and whose script names no count has counted nothing. */
static int ecc_errors(const device_t *device, unsigned type, unsigned counter, unsigned long long *count)
{
    char key[KEY_BYTES];
    unsigned long long mode = 0;
    if (card_number(device, "ecc", &mode) || !mode)
        return NVML_NOT_SUPPORTED;
    snprintf(key, sizeof key, "ecc.%u.%u", type, counter);
    if (card_number(device, key, count))
        *count = 0;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetTotalEccErrors(device_t *device, unsigned type, unsigned counter,
                                    unsigned long long *count)
{
    ENTER(device);
    return ecc_errors(device, type, counter, count);
}

API int nvmlDeviceGetMemoryErrorCounter(device_t *device, unsigned type, unsigned counter, unsigned location,
                                        unsigned long long *count)
{
    (void)location;
    ENTER(device);
    return ecc_errors(device, type, counter, count);
}

API int nvmlDeviceGetRemappedRows(device_t *device, unsigned *correctable, unsigned *uncorrectable,
                                  unsigned *pending, unsigned *failure)
{
    char value[VALUE_BYTES];
    ENTER(device);
    if (device->instance != WHOLE_CARD || !script_card_text(device->card, "remap", value))
        return NVML_NOT_SUPPORTED;
    if (sscanf(value, "%u,%u,%u,%u", correctable, uncorrectable, pending, failure) != 4)
        return NVML_UNKNOWN;
    return NVML_SUCCESS;
}

/* gpu.N.processes=PID:BYTES,PID:BYTES; call visit for each one, return how many there are. */
static unsigned each_process(int card, process_t *out, unsigned room)
{
    char value[VALUE_BYTES];
    unsigned count = 0;
    if (!script_card_text(card, "processes", value))
        return 0;
    for (char *entry = strtok(value, ","); entry; entry = strtok(NULL, ",")) {
        unsigned pid = 0;
        unsigned long long bytes = 0;
        if (sscanf(entry, "%u:%llu", &pid, &bytes) < 1)
            continue;
        if (count < room) {
            out[count].pid = pid;
            out[count].used_bytes = bytes;
            out[count].gpu_instance = 0xffffffff;
            out[count].compute_instance = 0xffffffff;
        }
        count++;
    }
    return count;
}

static int running_processes(const device_t *device, unsigned *count, process_t *out)
{
    unsigned room = out ? *count : 0;
    *count = each_process(device->card, out, room);
    return *count > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* Drivers before R510 know only this form, with the smaller structure. */
API int nvmlDeviceGetComputeRunningProcesses(device_t *device, unsigned *count, process_v1_t *out)
{
    process_t found[64];
    ENTER(device);
    unsigned room = out ? *count : 0;
    *count = each_process(device->card, found, 64);
    if (*count > room || *count > 64)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned index = 0; index < *count; index++) {
        out[index].pid = found[index].pid;
        out[index].used_bytes = found[index].used_bytes;
    }
    return NVML_SUCCESS;
}

API int nvmlDeviceGetComputeRunningProcesses_v2(device_t *device, unsigned *count, process_t *out)
{
    ENTER(device);
    return running_processes(device, count, out);
}

API int nvmlDeviceGetComputeRunningProcesses_v3(device_t *device, unsigned *count, process_t *out)
{
    ENTER(device);
    return running_processes(device, count, out);
}

API int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t *device, unsigned *count, process_t *out)
{
    (void)out;
    ENTER(device);
    *count = 0;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetMPSComputeRunningProcesses_v3(device_t *device, unsigned *count, process_t *out)
{
    (void)out;
    ENTER(device);
    *count = 0;
    return NVML_SUCCESS;
}

/* fabric_state: 0 not supported, 1 not started, 2 in progress, 3 completed. */
static int fabric(const device_t *device, fabric_t *answer)
{
    unsigned long long state = 0;
    unsigned long long status = 0;
    unsigned long long clique = 0;
    unsigned long long health = 0;
    if (card_number(device, "fabric_state", &state))
        return NVML_NOT_SUPPORTED;
    card_number(device, "fabric_status", &status);
    card_number(device, "fabric_clique", &clique);
    card_number(device, "fabric_health", &health);
    memset(answer->cluster, state == 3 ? 0xc5 : 0, sizeof answer->cluster);
    answer->status = (int)status;
    answer->clique = (unsigned)clique;
    answer->state = (unsigned char)state;
    answer->health_mask = (unsigned)health;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetGpuFabricInfo(device_t *device, fabric_v1_t *info)
{
    fabric_t answer;
    ENTER(device);
    int rc = fabric(device, &answer);
    if (rc)
        return rc;
    memcpy(info->cluster, answer.cluster, sizeof info->cluster);
    info->status = answer.status;
    info->clique = answer.clique;
    info->state = answer.state;
    return NVML_SUCCESS;
}

API int nvmlDeviceGetGpuFabricInfoV(device_t *device, fabric_t *info)
{
    ENTER(device);
    if (info->version != 0x02000024 && info->version != 0x03000028)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return fabric(device, info);
}

/* No field is known: each answer says so by itself, the call as a whole succeeds. */
API int nvmlDeviceGetFieldValues(device_t *device, int count, field_value_t *values)
{
    ENTER(device);
    for (int index = 0; index < count; index++)
        values[index].rc = NVML_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
