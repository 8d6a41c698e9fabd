#include "core/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/descriptor.h"

namespace detol {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Not waiting for the writer of a pipe.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return cannot("read", path, ErrorCode::kInput);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kInput, fmt::format("cannot read {}: it is no file", path.string()));
  MappedFile mapped;
  mapped.size_ = static_cast<std::size_t>(info.st_size);
  if (mapped.size_ == 0) return mapped;  // which cannot be mapped
  void* bytes = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (bytes == MAP_FAILED) return cannot("map", path, ErrorCode::kInput);
  mapped.bytes_ = {
      static_cast<const std::byte*>(bytes),
      [size = mapped.size_](const std::byte* at) { ::munmap(const_cast<std::byte*>(at), size); }};
  return mapped;
}

}  // namespace detol
