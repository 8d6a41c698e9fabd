#pragma once

// Records of a zip file in memory, stored without compression. Private to this folder; users do not
// see libarchive.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline exporting {

struct ZipRecord {
  std::string name;
  std::string_view bytes;
};

// Returns the bytes of a file, equal for equal records: it has no dates and no owner. Errors
// (kExport): libarchive's.
Result<std::string> zip_file(const std::vector<ZipRecord>& records);

// Returns the bytes of each record of a file that has the names and lengths of `expected`, in their
// order; their bytes may be others. Takes no more memory than they have. Errors (kExport): a
// damaged file, another record than expected.
Result<std::vector<std::string>> read_zip(std::string_view file,
                                          const std::vector<ZipRecord>& expected);

}  // namespace detol::inline exporting
