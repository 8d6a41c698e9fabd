#include "export/zip_records.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>
#include <new>

#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline exporting {
namespace {

constexpr std::size_t kMostOverhead = 256;  // of a record: its headers, beside two times its name

struct Closer {
  void operator()(archive* open) const { archive_free(open); }
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

using Archive = std::unique_ptr<archive, Closer>;

template <typename Made>
std::unique_ptr<Made, Closer> owned(Made* made) {
  if (made == nullptr) throw std::bad_alloc();
  return std::unique_ptr<Made, Closer>(made);
}

tl::unexpected<Error> failed(archive& open) {
  const char* why = archive_error_string(&open);
  return fail(ErrorCode::kExport, why == nullptr ? "not a zip file, or a damaged one"
                                                 : "libarchive: " + printable_excerpt(why));
}

tl::unexpected<Error> wrong(const ZipRecord& record, std::string_view what) {
  return fail(ErrorCode::kExport, fmt::format("its record {} {}", in_quotes(record.name), what));
}

Result<void> write_record(archive& open, const ZipRecord& record) {
  const auto entry = owned(archive_entry_new());
  archive_entry_set_pathname(entry.get(), record.name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(record.bytes.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  if (archive_write_header(&open, entry.get()) != ARCHIVE_OK) return failed(open);
  const la_ssize_t written = archive_write_data(&open, record.bytes.data(), record.bytes.size());
  if (written != static_cast<la_ssize_t>(record.bytes.size())) return failed(open);
  return {};
}

// Reads the next record, which must be the expected one.
Result<std::string> read_record(archive& open, const ZipRecord& expected) {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(&open, &entry);
  if (status == ARCHIVE_EOF) return wrong(expected, "is missing");
  if (status != ARCHIVE_OK) return failed(open);
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr || name != expected.name) return wrong(expected, "is missing");
  std::string bytes(expected.bytes.size() + 1, '\0');  // one more shows a longer record
  std::size_t done = 0;
  for (la_ssize_t more = 1; more > 0; done += static_cast<std::size_t>(more)) {
    more = archive_read_data(&open, bytes.data() + done, bytes.size() - done);
    if (more < 0) return failed(open);
  }
  bytes.pop_back();
  if (done == bytes.size()) return bytes;
  return wrong(expected, fmt::format("has not the {} bytes of the model's", bytes.size()));
}

}  // namespace

Result<std::string> zip_file(const std::vector<ZipRecord>& records) {
  std::size_t most = kMostOverhead;
  for (const ZipRecord& record : records)
    most += record.bytes.size() + 2 * record.name.size() + kMostOverhead;
  std::string file(most, '\0');
  std::size_t size = 0;
  const Archive open = owned(archive_write_new());
  if (archive_write_set_format_zip(open.get()) != ARCHIVE_OK ||
      archive_write_zip_set_compression_store(open.get()) != ARCHIVE_OK ||
      archive_write_open_memory(open.get(), file.data(), file.size(), &size) != ARCHIVE_OK)
    return failed(*open);
  for (const ZipRecord& record : records) DETOL_TRY(write_record(*open, record));
  if (archive_write_close(open.get()) != ARCHIVE_OK) return failed(*open);
  file.resize(size);
  return file;
}

Result<std::vector<std::string>> read_zip(std::string_view file,
                                          const std::vector<ZipRecord>& expected) {
  const Archive open = owned(archive_read_new());
  if (archive_read_support_format_zip_seekable(open.get()) != ARCHIVE_OK ||
      archive_read_open_memory(open.get(), file.data(), file.size()) != ARCHIVE_OK)
    return failed(*open);
  std::vector<std::string> records;
  for (const ZipRecord& record : expected) {
    DETOL_ASSIGN(std::string bytes, read_record(*open, record));
    records.push_back(std::move(bytes));
  }
  archive_entry* entry = nullptr;
  if (archive_read_next_header(open.get(), &entry) == ARCHIVE_EOF) return records;
  return fail(ErrorCode::kExport, "it has more records than the model");
}

}  // namespace detol::inline exporting
