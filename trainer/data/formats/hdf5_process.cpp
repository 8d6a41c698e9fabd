#include "trainer/data/formats/hdf5_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "core/child_process.h"

namespace detol::inline trainer {

// Hdf5Request is sent over a socket between two processes of one program.
struct Hdf5Request {
  static constexpr std::size_t kLongestName = 255;

  enum class Kind : std::int32_t { kIsOpen, kFind, kRead } kind = Kind::kIsOpen;
  Hdf5Number number = Hdf5Number::kByte;
  std::int64_t first = 0, count = 0;
  std::uint64_t bytes = 0;  // expected in the answer
  std::array<char, kLongestName + 1> name{};

  static Hdf5Request of(Kind kind, std::string_view name) {
    Hdf5Request request{.kind = kind};
    name.copy(request.name.data(), kLongestName);
    return request;
  }
};

namespace {

constexpr int kSocket = 3;  // in the child, the first after standard error

bool send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Handle closes a handle of the library in its destructor.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  bool is_open() const { return id_ >= 0; }
  hid_t operator*() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// NOLINTNEXTLINE(readability-function-size): libhdf5 sets the signature
herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
  return -1;
}

// Opens a data set; returns a closed handle if there is none of that name, or if it is a link out
// of the file, which could lead to anything, even a pipe that blocks.
Handle open_dataset(hid_t file, const char* name) {
  const Handle settings(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_elink_cb(*settings, refuse_link, nullptr);
  return {H5Dopen2(file, name, *settings), H5Dclose};
}

bool is_self_contained(hid_t data) {
  const Handle creation(H5Dget_create_plist(data), H5Pclose);
  return creation.is_open() && H5Pget_external_count(*creation) == 0 &&
         H5Pget_layout(*creation) != H5D_VIRTUAL;
}

Hdf5Array describe(hid_t data) {
  Hdf5Array array{.is_there = data >= 0};
  if (!array.is_there) return array;
  const Handle space(H5Dget_space(data), H5Sclose);
  const Handle type(H5Dget_type(data), H5Tclose);
  std::array<hsize_t, Hdf5Array::kMostSizes> sizes{};
  const int rank = space.is_open() ? H5Sget_simple_extent_ndims(*space) : -1;
  if (!type.is_open() || rank < 1 || rank > Hdf5Array::kMostSizes ||
      H5Sget_simple_extent_dims(*space, sizes.data(), nullptr) != rank)
    return array;
  array.rank = rank;
  std::ranges::copy(sizes, array.sizes.begin());
  array.is_self_contained = is_self_contained(data);
  const H5T_class_t kind = H5Tget_class(*type);
  array.is_integer = kind == H5T_INTEGER;
  array.is_float = kind == H5T_FLOAT;
  array.element = H5Tget_size(*type);
  array.is_of_bytes = array.is_integer && array.element == 1 && H5Tget_sign(*type) == H5T_SGN_NONE;
  array.stored = H5Dget_storage_size(data);
  return array;
}

hid_t memory_type(Hdf5Number number) {
  switch (number) {
    case Hdf5Number::kByte:
      return H5T_NATIVE_UINT8;
    case Hdf5Number::kWhole:
      return H5T_NATIVE_INT64;
    case Hdf5Number::kDouble:
      return H5T_NATIVE_DOUBLE;
    case Hdf5Number::kFloat:
      break;
  }
  return H5T_NATIVE_FLOAT;
}

// Server is the child's side: it answers the parent's requests.
class Server {
 public:
  explicit Server(const char* path)
      : file_((H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr),  // silences its own messages
               H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT)),
              H5Fclose) {}

  bool answer(const Hdf5Request& request) {
    switch (request.kind) {
      case Hdf5Request::Kind::kIsOpen: {
        bool is_open = file_.is_open();
        return send_all(kSocket, bytes_of(is_open));
      }
      case Hdf5Request::Kind::kFind: {
        Hdf5Array array = describe(dataset(request.name.data()));
        return send_all(kSocket, bytes_of(array));
      }
      case Hdf5Request::Kind::kRead:
        break;
    }
    return answer_with_numbers(request);
  }

 private:
  // Returns a data set, which stays open, so that libhdf5 caches the chunk that was unpacked last.
  hid_t dataset(const std::string& name) {
    const auto known = datasets_.find(name);
    if (known != datasets_.end()) return *known->second;
    return *datasets_.emplace(name, open_dataset(*file_, name.c_str())).first->second;
  }

  bool answer_with_numbers(const Hdf5Request& request) {
    const hid_t type = memory_type(request.number);
    std::vector<std::byte> numbers;
    bool is_read = read(request, type, numbers);
    return send_all(kSocket, bytes_of(is_read)) && (!is_read || send_all(kSocket, numbers));
  }

  bool read(const Hdf5Request& request, hid_t type, std::vector<std::byte>& numbers) {
    const hid_t data = dataset(request.name.data());
    const Hdf5Array array = describe(data);
    std::vector<hsize_t> start(static_cast<std::size_t>(array.rank), 0);
    std::vector<hsize_t> extent(array.sizes.begin(), array.sizes.begin() + array.rank);
    if (extent.empty()) return false;
    start[0] = static_cast<hsize_t>(request.first);
    extent[0] = static_cast<hsize_t>(request.count);
    double bytes = static_cast<double>(H5Tget_size(type));
    for (const hsize_t size : extent) bytes *= static_cast<double>(size);
    if (bytes != static_cast<double>(request.bytes)) return false;
    numbers.resize(request.bytes);
    const Handle there(H5Dget_space(data), H5Sclose);
    const Handle here(H5Screate_simple(array.rank, extent.data(), nullptr), H5Sclose);
    return there.is_open() && here.is_open() &&
           H5Sselect_hyperslab(*there, H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                               nullptr) >= 0 &&
           H5Dread(data, type, *here, *there, H5P_DEFAULT, numbers.data()) >= 0;
  }

  Handle file_;
  std::map<std::string, Handle> datasets_;
};

void limit(int resource, rlim_t most) {
  rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min(most, now.rlim_max);
  ::setrlimit(resource, &now);
}

// Limits CPU time from here on, after which SIGXCPU ends the process; a slow disk takes no CPU
// time.
void allow_cpu_seconds(rlim_t seconds) {
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::clock() / CLOCKS_PER_SEC) + 1 + seconds);
}

// Resets the program's signal handlers, forbids core files and writing, and closes other
// descriptors. The parent reports a crash of this process.
void become_harmless(int socket) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGXCPU})
    std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  ::dup2(socket, kSocket);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, standard);
  ::close_range(kSocket + 1, ~0U, 0);
}

// Returns the CPU seconds that an answer may take with the slowest valid file of this size.
rlim_t patience_s(const char* path) {
  constexpr std::uintmax_t kUnpackedPerSecond = 10'000'000;
  std::error_code ignored;
  return 1 + std::filesystem::file_size(path, ignored) / kUnpackedPerSecond;
}

[[noreturn]] void serve(int socket, const char* path) {
  const rlim_t patience = patience_s(path);
  become_harmless(socket);
  allow_cpu_seconds(patience);
  Server server(path);
  for (Hdf5Request request; receive_all(kSocket, bytes_of(request));) {
    allow_cpu_seconds(patience);
    if (!server.answer(request)) break;
  }
  ::_exit(0);
}

}  // namespace

Result<Hdf5Process> Hdf5Process::start(const std::string& path) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return cannot("start a process for", path, ErrorCode::kInput);
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const pid_t process = ::fork();
  if (process == 0) serve(theirs.get(), path.c_str());
  if (process < 0) return cannot("start a process for", path, ErrorCode::kInput);
  return Hdf5Process(process, std::move(ours));
}

Hdf5Process::Hdf5Process(Hdf5Process&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      socket_(std::move(other.socket_)),
      has_died_(other.has_died_) {}

Hdf5Process::~Hdf5Process() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  wait_for_end(process_);
}

template <typename Answer>
Answer Hdf5Process::ask(const Hdf5Request& request) {
  Answer answer{};
  if (has_died_ || !send_all(socket_.get(), std::as_bytes(std::span(&request, 1))) ||
      !receive(bytes_of(answer))) {
    has_died_ = true;
    return {};
  }
  return answer;
}

bool Hdf5Process::receive(std::span<std::byte> out) {
  return receive_all(socket_.get(), out);
}

bool Hdf5Process::is_open() {
  return ask<bool>(Hdf5Request::of(Hdf5Request::Kind::kIsOpen, ""));
}

Hdf5Array Hdf5Process::find(std::string_view name) {
  if (name.size() > Hdf5Request::kLongestName) return {};
  return ask<Hdf5Array>(Hdf5Request::of(Hdf5Request::Kind::kFind, name));
}

bool Hdf5Process::read(std::string_view name, std::int64_t first, std::int64_t count,
                       Hdf5Number number, std::span<std::byte> out) {
  Hdf5Request request = Hdf5Request::of(Hdf5Request::Kind::kRead, name);
  request.number = number;
  request.first = first;
  request.count = count;
  request.bytes = out.size();
  if (!ask<bool>(request)) return false;
  has_died_ = !receive(out);
  return !has_died_;
}

}  // namespace detol::inline trainer
