"""What is read out of the headers that name return codes; whole headers are read in tests/contract."""

from __future__ import annotations

import pytest

from tools.error_codes import ALL, Codes, codes_in, read_meanings
from tools.framework_tables import TABLES_FOLDER
from tools.table_file import read_rows

DRIVER = """
typedef enum CUmode_enum { CU_MODE_A = 0, CU_MODE_B = 1 } CUmode;
typedef enum cudaError_enum {
    /**
     * No errors. See ::cuEventQuery() = 7.
     */
    CUDA_SUCCESS                              = 0,

    /**
     * This indicated that the context was already the active context.
     * \\deprecated
     * This error return is deprecated as of CUDA 3.2. It is no longer an
     * error to push it.
     */
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT        = 202,

    /** Unknown. */
    CUDA_ERROR_UNKNOWN                        = 999
    /**
     * Added to.
     * \\deprecated
     * This error return is deprecated as of CUDA 4.1.
     */
    , cudaErrorApiFailureBase                 = 0x2710
} CUresult;
"""
BEHIND = """
typedef enum nvmlReturn_enum
{
    // cppcheck-suppress *
    NVML_SUCCESS = 0,                          //!< The operation was successful
    NVML_ERROR_ALREADY_INITIALIZED = 5,        //!< Deprecated: Initializations are now counted
    NVML_ERROR_UNKNOWN = 999                   //!< An internal driver error occurred
} nvmlReturn_t;
"""
ALIASES = """
typedef enum {
    CUDNN_STATUS_SUCCESS = 0, /**< Completed. @since cuDNN 9.0.0 */
    CUDNN_STATUS_DEPRECATED       = 1004, /**< Deprecated feature was used. @since cuDNN 9.0.0 */
    CUDNN_STATUS_BAD_PARAM        = 2000,
    CUDNN_STATUS_INVALID_VALUE CUDNN_DEPRECATED_ENUM = 2001 /* please move */, /**< @deprecated Use BAD. */
    CUDNN_STATUS_OLD CUDNN_DEPRECATED_ENUM =
        CUDNN_STATUS_BAD_PARAM, /**< @deprecated Use CUDNN_STATUS_BAD_PARAM. @since cuDNN 9.0.0 */
} cudnnStatus_t;
"""
COUNTED = "typedef enum { ncclSuccess = 0, ncclTimeout = 8, ncclNumResults = 9 } ncclResult_t;"


@pytest.mark.parametrize(("header", "success", "expected"), [
    (DRIVER, "CUDA_SUCCESS", [
        ("CUDA_SUCCESS", 0, None, False),
        ("CUDA_ERROR_CONTEXT_ALREADY_CURRENT", 202, "This error return is deprecated as of CUDA 3.2", False),
        ("CUDA_ERROR_UNKNOWN", 999, None, False),
        ("cudaErrorApiFailureBase", 10000, "This error return is deprecated as of CUDA 4.1", False)]),
    (BEHIND, "NVML_SUCCESS", [
        ("NVML_SUCCESS", 0, None, False),
        ("NVML_ERROR_ALREADY_INITIALIZED", 5, "Initializations are now counted", False),
        ("NVML_ERROR_UNKNOWN", 999, None, False)]),
    (ALIASES, "CUDNN_STATUS_SUCCESS", [
        ("CUDNN_STATUS_SUCCESS", 0, None, False), ("CUDNN_STATUS_DEPRECATED", 1004, None, False),
        ("CUDNN_STATUS_BAD_PARAM", 2000, None, False), ("CUDNN_STATUS_INVALID_VALUE", 2001, "Use BAD", False),
        ("CUDNN_STATUS_OLD", 2000, "Use CUDNN_STATUS_BAD_PARAM", True)]),
    (COUNTED, "ncclSuccess", [("ncclSuccess", 0, None, False), ("ncclTimeout", 8, None, False)]),
], ids=["comments before", "comments behind", "other names", "a count"])
def test_codes_are_read_with_what_the_header_says_of_their_age(
        header: str, success: str, expected: list[tuple[str, int, str | None, bool]]) -> None:
    """A comment belongs to the code before it where it says so, and else to the one after it."""
    assert [(one["name"], one["code"], one["deprecated"], one["alias"])
            for one in codes_in(header, success)] == expected


def test_a_header_without_the_codes_is_no_empty_table() -> None:
    """A library that moves them elsewhere would lose every row without a word."""
    with pytest.raises(ValueError, match="CUDA_SUCCESS"):
        codes_in(BEHIND, "CUDA_SUCCESS")


@pytest.mark.parametrize("codes", ALL, ids=lambda codes: codes.name)
def test_every_code_has_a_meaning_and_every_meaning_a_code(codes: Codes) -> None:
    """One that a new header brings is written into tools/error_meanings.toml."""
    rows = read_rows(TABLES_FOLDER / f"{codes.name}.toml")
    assert [row["name"] for row in rows if not row.get("meaning")] == []
    assert set(read_meanings()[codes.name]) - {row["name"] for row in rows} == set()
