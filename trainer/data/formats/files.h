#pragma once

// Functions that all formats share: to find files and to report the place of an error in a file.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline trainer {

// The maximum number of bytes that one byte of deflate unpacks to: 258 bytes from 2 bits.
inline constexpr std::uint64_t kLargestDeflateRatio = 1032;

inline constexpr std::string_view kGetAgain = "copy or download the file again";

// Checks that `path` is a folder. Errors (kInput): it is not. `kind` is the kind of files that
// belong there ("IDX"), `source` where to get them.
Result<void> check_folder(const std::filesystem::path& path, std::string_view kind,
                          std::string_view source);

// Returns the file of that name, or else of that name and .gz.
std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder,
                                                 std::string_view name);

// Returns the error "<path>: byte <offset>: <what>; <remedy>", as kInput; in a .gz file the offset
// counts unpacked bytes.
tl::unexpected<Error> byte_error(const std::filesystem::path& path, std::uint64_t offset,
                                 std::string_view what, std::string_view remedy = kGetAgain);

// Checks that there are data. Errors (kInput): no path is given or, if there is a `source`, nothing
// is at the path. The message tells where to get the data and how to name them.
Result<void> find_data(const std::string& path, const std::string& source);

}  // namespace detol::inline trainer
