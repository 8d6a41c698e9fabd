# A recipe for Spack. It was written from CMakeLists.txt and has not been built by Spack yet:
#
#   spack repo create detol-repo && mkdir -p detol-repo/packages/detol
#   cp packaging/spack/package.py detol-repo/packages/detol/ && spack repo add detol-repo
#   spack dev-build -d $PWD detol@main
from spack.package import *


class Detol(CMakePackage, CudaPackage):
    """Finds neural networks and their hyperparameters, on a laptop or a cluster."""

    license("Apache-2.0")

    version("main")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74:")
    depends_on("cli11")
    depends_on("cppzmq")
    depends_on("eigen@3.4:")
    depends_on("fmt@9:")
    depends_on("hdf5~mpi+cxx")
    depends_on("libarchive")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("libzmq")
    depends_on("mpi")
    depends_on("nlohmann-json")
    depends_on("nlopt")
    depends_on("onednn@2.6:2")
    depends_on("onnx@1.12:")
    depends_on("protobuf")
    depends_on("random123")
    depends_on("spdlog")
    depends_on("sqlite")
    depends_on("tl-expected")
    depends_on("xxhash")
    depends_on("yaml-cpp")
    depends_on("zlib-api")
    depends_on("cudnn@9:", when="+cuda")
    depends_on("nccl", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define_from_variant("DETOL_CUDA", "cuda"),
        ]
