#include "core/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "core/descriptor.h"

namespace detol::inline core {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  DETOL_ASSIGN(const Descriptor file, open_regular_file(path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot("read", path, ErrorCode::kInput);
  MappedFile mapped;
  mapped.size_ = static_cast<std::size_t>(info.st_size);
  if (mapped.size_ == 0) return mapped;  // mmap refuses a length of 0
  void* bytes = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (bytes == MAP_FAILED) return cannot("map", path, ErrorCode::kInput);
  mapped.bytes_ = {
      static_cast<const std::byte*>(bytes),
      [size = mapped.size_](const std::byte* at) { ::munmap(const_cast<std::byte*>(at), size); }};
  return mapped;
}

}  // namespace detol::inline core
