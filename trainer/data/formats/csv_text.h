#pragma once

// csv_text: the bytes of a CSV file as UTF-8, whatever program wrote them: Excel's "Unicode text"
// is UTF-16.

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline trainer {

struct CsvText {
  std::string text;
  std::string remark = {};  // what the file was converted from; empty: it was UTF-8 or alike
};

// Errors (kInput): the file is a workbook or another file that is not text; it is UTF-32, or UTF-16
// that is damaged.
Result<CsvText> csv_text(const std::filesystem::path& path, std::string_view bytes);

}  // namespace detol::inline trainer
