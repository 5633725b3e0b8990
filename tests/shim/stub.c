/* The stub libcuda of a CUDA toolkit (lib64/stubs): made for linking, every call fails with 34.
   Loading it by mistake is one of the ways in which a working GPU goes missing. */
#define API __attribute__((visibility("default")))
#define CUDA_STUB_LIBRARY 34

/* Every function takes whatever it is given and touches nothing. */
#define STUB(name)                \
    API int name(void)            \
    {                             \
        return CUDA_STUB_LIBRARY; \
    }

STUB(cuInit)
STUB(cuDriverGetVersion)
STUB(cuDeviceGetCount)
STUB(cuDeviceGet)
STUB(cuDeviceGetName)
STUB(cuDeviceGetUuid)
STUB(cuDeviceGetUuid_v2)
STUB(cuDeviceTotalMem_v2)
STUB(cuDeviceGetAttribute)
STUB(cuDeviceGetPCIBusId)
STUB(cuCtxCreate_v2)
STUB(cuDevicePrimaryCtxRetain)
STUB(cuGetErrorName)
STUB(cuGetErrorString)
STUB(cuGetProcAddress)
STUB(cuGetProcAddress_v2)

API int gpudoctor_shim_is_scripted(void)
{
    return 1;
}
