/* Return codes and structures of NVML that the scripted library speaks; layouts as in nvidia-ml-py. */
#ifndef GPUDOCTOR_NVML_TYPES_H
#define GPUDOCTOR_NVML_TYPES_H

enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_GPU_IS_LOST = 15,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999
};

#define WHOLE_CARD (-1)
#define MIG_INSTANCES 8

/* What a handle points to: a card, or one MIG instance of it. */
typedef struct {
    int card;
    int instance;
} device_t;

typedef struct {
    char legacy_bus_id[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char bus_id[32];
} pci_t;

typedef struct {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} memory_t;

typedef struct {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
} memory_v2_t;

typedef struct {
    unsigned version;
    unsigned sensor;
    int celsius;
} temperature_t;

typedef struct {
    unsigned gpu_percent;
    unsigned memory_percent;
} utilisation_t;

typedef struct {
    unsigned pid;
    unsigned long long used_bytes;
} process_v1_t;

typedef struct {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
} process_t;

typedef struct {
    unsigned multiprocessors;
    unsigned copy_engines;
    unsigned decoders;
    unsigned encoders;
    unsigned jpegs;
    unsigned ofas;
    unsigned gpu_instance_slices;
    unsigned compute_instance_slices;
    unsigned long long memory_mib;
} attributes_t;

typedef struct {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
} fabric_v1_t;

typedef struct {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health_summary; /* only in version 3; the structure of version 2 ends in front of it */
} fabric_t;

typedef struct {
    unsigned field;
    unsigned scope;
    long long timestamp;
    long long latency;
    unsigned type;
    int rc;
    unsigned long long value;
} field_value_t;

/* Find the handle for a card or an instance. Defined in nvml.c. */
device_t *nvml_handle(int card, int instance);

/* The first thing a device function does: 0, or the code it must return at once. Defined in nvml.c. */
int nvml_enter(const char *function, const device_t *device);

#endif
