/* Scripted libcuda.so.1: which devices it shows to this process (cards, MIG, order, CUDA_VISIBLE_DEVICES). */
#define _GNU_SOURCE
#include "cuda.h"

cuda_device_t cuda_visible[SCRIPT_CARDS];
int cuda_visible_count;

/* "GPU-00112233-..." or "MIG-..." -> 16 bytes. */
void cuda_uuid_bytes(const char *text, unsigned char *bytes)
{
    int digits = 0;
    memset(bytes, 0, 16);
    for (text += strlen(text) > 4 ? 4 : 0; *text && digits < 32; text++) {
        char digit[2] = {*text, '\0'};
        char *end;
        unsigned long value = strtoul(digit, &end, 16);
        if (*end || end == digit)
            continue;
        bytes[digits / 2] = (unsigned char)(bytes[digits / 2] << 4 | value);
        digits++;
    }
}

void cuda_device_uuid(const cuda_device_t *device, char *uuid)
{
    if (device->instance != WHOLE_CARD)
        script_mig_uuid(device->card, device->instance, uuid);
    else if (!script_card_text(device->card, "uuid", uuid))
        snprintf(uuid, VALUE_BYTES, "GPU-%08x-1111-2222-3333-444444444444", device->card);
}

/* All devices before any filter. A card in MIG mode is shown as its first instance, and not at all without
   one. cuda_order=1,0 is the driver's own order (fastest first); CUDA_DEVICE_ORDER=PCI_BUS_ID switches it
   off. */
static int all_devices(cuda_device_t *devices)
{
    char order[VALUE_BYTES];
    const char *device_order = getenv("CUDA_DEVICE_ORDER");
    int by_bus = device_order && !strcmp(device_order, "PCI_BUS_ID");
    int ordered = !by_bus && script_value(order, "cuda_order");
    char *at = order;
    int count = 0;
    for (int position = 0; position < script_card_count(); position++) {
        int card = ordered ? (int)strtol(at, &at, 10) : position;
        long long hidden = 0;
        long long mig = 0;
        if (ordered && *at == ',')
            at++;
        if (card < 0 || card >= script_card_count())
            continue;
        script_card_number(card, "cuda_hidden", &hidden);
        script_card_number(card, "mig", &mig);
        if (hidden || (mig && !script_mig_instances(card)))
            continue;
        devices[count].card = card;
        devices[count].instance = mig ? 0 : WHOLE_CARD;
        count++;
    }
    return count;
}

/* Find what one entry of CUDA_VISIBLE_DEVICES names: an index (its first digits, as strtoul reads them), the
   beginning of a UUID that only one device has, or a MIG instance. The first entry says which of them. */
static int entry_device(const char *kind, const char *entry, const cuda_device_t *devices, int count,
                        cuda_device_t *found)
{
    char uuid[VALUE_BYTES];
    char *end;
    int named = 0;
    if (strncmp(kind, "GPU-", 4) && strncmp(kind, "MIG-", 4)) {
        long index = strtol(entry, &end, 10);
        if (end == entry || index < 0 || index >= count)
            return 0;
        *found = devices[index];
        return 1;
    }
    if (strncmp(kind, entry, 4))
        return 0;
    for (int device = 0; device < count; device++) {
        for (int instance = 0; instance < script_mig_instances(devices[device].card); instance++) {
            script_mig_uuid(devices[device].card, instance, uuid);
            if (strncmp(uuid, entry, strlen(entry)))
                continue;
            found->card = devices[device].card;
            found->instance = instance;
            return 1;
        }
        cuda_device_uuid(&devices[device], uuid);
        if (!strncmp(uuid, entry, strlen(entry))) {
            *found = devices[device];
            named++;
        }
    }
    return named == 1;
}

static int is_visible(const cuda_device_t *device)
{
    for (int index = 0; index < cuda_visible_count; index++) {
        if (cuda_visible[index].card == device->card && cuda_visible[index].instance == device->instance)
            return 1;
    }
    return 0;
}

/* Fill the visible devices. The list ends at its first entry that names nothing; a device named twice leaves none. */
void cuda_find_visible(void)
{
    cuda_device_t devices[SCRIPT_CARDS];
    cuda_device_t found;
    char list[VALUE_BYTES];
    char *rest = list;
    char kind[5] = "";
    int count = all_devices(devices);
    const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
    cuda_visible_count = 0;
    if (!wanted) {
        memcpy(cuda_visible, devices, sizeof devices);
        cuda_visible_count = count;
        return;
    }
    snprintf(list, sizeof list, "%s", wanted);
    for (char *entry = strsep(&rest, ","); entry; entry = strsep(&rest, ",")) {
        entry += strspn(entry, " \t");
        entry[strcspn(entry, " \t\r\n")] = '\0';
        if (!*kind)
            snprintf(kind, sizeof kind, "%.4s", *entry ? entry : "-");
        if (!entry_device(kind, entry, devices, count, &found))
            return;
        if (is_visible(&found)) {
            cuda_visible_count = 0;
            return;
        }
        if (cuda_visible_count < SCRIPT_CARDS)
            cuda_visible[cuda_visible_count++] = found;
    }
}
