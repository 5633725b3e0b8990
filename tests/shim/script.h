/* The script that drives both libraries: a text file of key=value lines, named by GPUDOCTOR_SHIM (else
   /run/gpudoctor-shim.cfg), read once when the library is loaded. Lines that begin with # are comments. */
#ifndef GPUDOCTOR_SCRIPT_H
#define GPUDOCTOR_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define SCRIPT_CARDS 64
#define KEY_BYTES 192
#define VALUE_BYTES 512

#ifndef DRIVER_VERSION
#define DRIVER_VERSION "570.86.15"
#endif
#ifndef CUDA_VERSION
#define CUDA_VERSION 12080
#endif

/* Copy the value of a formatted key into value (VALUE_BYTES long); 1 when the script has it. */
__attribute__((format(printf, 2, 3))) int script_value(char *value, const char *format, ...);

/* The number that a key holds. */
long long script_number(const char *key, long long otherwise);

/* "nvmlDeviceGetCount_v2" -> "nvmlDeviceGetCount", so that a script need not know suffixes. */
void script_base_name(const char *function, char *base);

/* Do what the script says about this function (flood, then hang, then crash); return its error code, 0 for
 * none. */
int script_fault(const char *function);

/* gpu.N.rc.FUNCTION: an error of one card only, 0 for none. */
int script_card_fault(int card, const char *function);

/* 1 and the text, or the number, when the script has gpu.CARD.KEY. */
int script_card_text(int card, const char *key, char *value);
int script_card_number(int card, const char *key, long long *number);

int script_card_count(void);

/* How many MIG instances a card has, 0 unless its MIG mode is on; and what they are. */
int script_mig_instances(int card);
void script_mig_uuid(int card, int instance, char *uuid);
long long script_mig_memory(int card, int instance);
void script_mig_name(int card, int instance, char *name);

#endif
