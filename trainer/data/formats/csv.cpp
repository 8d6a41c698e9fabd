#include "trainer/data/formats/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/formats/csv_text.h"
#include "trainer/data/formats/packed_file.h"

namespace detol::inline trainer {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kHeadBytes = std::size_t{1} << 16;
constexpr std::size_t kMostCells = std::size_t{1} << 20;  // of a line: each takes 100 bytes or more

}  // namespace

Result<CsvReader> CsvReader::open(const std::filesystem::path& path) {
  DETOL_ASSIGN(PackedFile file, PackedFile::open(path));
  DETOL_ASSIGN(const std::string bytes, file.read_rest());
  return of(path, bytes);
}

Result<CsvReader> CsvReader::of(const std::filesystem::path& path, std::string_view bytes) {
  DETOL_ASSIGN(CsvText text, csv_text(path, bytes));
  CsvReader reader(path, text.text);
  reader.remark_ = std::move(text.remark);
  return reader;
}

CsvReader::CsvReader(std::filesystem::path path, std::string_view bytes, char separator)
    : path_(std::move(path)), separator_(separator), bytes_(bytes.begin(), bytes.end()) {
  if (bytes.starts_with(kByteOrderMark)) at_ = line_start_ = kByteOrderMark.size();
}

std::string_view CsvReader::head() const {
  assert(cells_.empty());
  return std::string_view(bytes_.data(), bytes_.size()).substr(at_, kHeadBytes);
}

void CsvReader::skip_line() {
  assert(cells_.empty());
  while (at_ < bytes_.size() && !is_at('\n')) ++at_;
  ends_record();
}

std::string_view CsvReader::trimmed(std::string_view text) const {
  const std::size_t first = text.find_first_not_of(blanks());
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks()) - first + 1);
}

std::uint64_t CsvReader::fingerprint() const {
  assert(cells_.empty());
  return hash64(std::string_view(bytes_.data(), bytes_.size()));
}

Result<bool> CsvReader::next() {
  cells_.clear();
  for (std::size_t blank = at_;; blank = at_) {  // skips blank lines
    skip(blanks());
    if (at_ == bytes_.size()) return false;
    if (ends_record()) continue;
    at_ = blank;
    break;
  }
  for (bool more = true; more;) {
    DETOL_TRY(read_cell());
    if (cells_.size() > kMostCells)
      return error_at(cells_.front(),
                      fmt::format("a line of more than {} cells; is it a table?", kMostCells));
    more = is_at(separator_);
    if (more)
      ++at_;
    else if (!ends_record())
      return error_at(here(), "a carriage return that ends no line; end lines with LF or CRLF");
  }
  if (!width_) width_ = cells_.size();
  if (cells_.size() == *width_) return true;
  return error_at(cells_.front(), fmt::format("{} cells, but the lines before have {}{}",
                                              cells_.size(), *width_, why_another_width()));
}

std::string_view CsvReader::why_another_width() const {
  if (cells_.front().text.starts_with('#'))
    return "; lines that begin with # are comments at the head of the file alone: remove this one";
  return *width_ == 1 ? "; is the first line a title, or are cells separated otherwise?" : "";
}

tl::unexpected<Error> CsvReader::error_at(const CsvCell& cell, std::string_view what) const {
  return fail(ErrorCode::kInput,
              fmt::format("{}:{}:{}: {}", path_.string(), cell.line, cell.column, what));
}

void CsvReader::skip(std::string_view any_of) {
  while (at_ < bytes_.size() && any_of.find(bytes_[at_]) != std::string_view::npos) ++at_;
}

CsvCell CsvReader::here() const {
  return {.text = {}, .line = line_, .column = static_cast<int>(at_ - line_start_) + 1};
}

bool CsvReader::ends_record() {
  const std::size_t before = at_;
  if (is_at('\r')) ++at_;
  if (is_at('\n')) {
    ++at_;
    ++line_;
    line_start_ = at_;
    return true;
  }
  at_ = before;
  return at_ == bytes_.size();
}

// Reads one cell; leaves `at_` at the comma or the end of the line.
Result<void> CsvReader::read_cell() {
  skip(blanks());
  CsvCell cell = here();
  if (!is_at('"')) {
    cell.text = plain();
    const std::size_t quote = cell.text.find('"');
    if (quote == std::string_view::npos) {
      cells_.push_back(cell);
      return {};
    }
    cell.column += static_cast<int>(quote);
    return error_at(cell, "a quote inside a cell; quote the whole cell, each quote in it twice");
  }
  DETOL_ASSIGN(cell.text, quoted());
  cells_.push_back(cell);
  skip(blanks());
  const bool ends = at_ == bytes_.size() || is_at(separator_) || is_at('\n') || is_at('\r');
  return ends ? Result<void>() : error_at(here(), "text behind a quoted cell");
}

Result<std::string_view> CsvReader::quoted() {
  const CsvCell opening = here();
  const std::size_t first = ++at_;
  std::size_t end = first;
  for (; at_ < bytes_.size(); ++at_) {
    if (bytes_[at_] == '"') {
      if (at_ + 1 == bytes_.size() || bytes_[at_ + 1] != '"') {
        ++at_;
        return std::string_view(bytes_.data() + first, end - first);
      }
      ++at_;
    }
    if (bytes_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    bytes_[end++] = bytes_[at_];
  }
  return error_at(opening, "a quote that nothing closes");
}

std::string_view CsvReader::plain() {
  const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
  const auto ends = [this](char c) { return c == separator_ || c == '\n' || c == '\r'; };
  const auto end = std::find_if(begin, bytes_.end(), ends);
  const std::string_view text(bytes_.data() + at_, static_cast<std::size_t>(end - begin));
  at_ += text.size();
  return trimmed(text);
}

}  // namespace detol::inline trainer
