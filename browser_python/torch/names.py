"""The names that only PyTorch and NumPy have, or only the page, as `python tools/names.py` wrote them."""

NAMES = {
    "torch": """
AVG AcceleratorError AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BFloat16Storage BenchmarkConfig
BenchmarkExecutionStats Block BoolStorage BoolType BufferDict ByteStorage CallStack Capsule CharStorage ClassType Code
CompilationUnit CompleteArgumentSpec ComplexDoubleStorage ComplexFloatStorage ComplexType ConcreteModuleType
ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType DisableTorchFunction
DisableTorchFunctionSubclass DispatchKey DispatchKeySet DoubleStorage EnumType ErrorReport Event ExcludeDispatchKeyGuard
ExecutionPlan FatalError FileCheck FloatStorage FloatType FunctionSchema Future FutureType GradScaler Gradient Graph
GraphExecutorState HalfStorage IODescriptor InferredType IntStorage IntType InterfaceType JITException ListType
LiteScriptModule LockingLogger LoggerBase LongStorage ModuleDict Node NoneType NoopLogger NumberType OperatorInfo
OptionalType OutOfMemoryError PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader PyTorchFileWriter QInt32Storage
QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType SUM ScriptClass ScriptClassFunction ScriptDict
ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule
ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext ShortStorage StaticModule Storage
StorageBase Stream StreamObjType StringType SymBool SymBoolType SymFloat SymInt SymIntType TYPE_CHECKING Tag TensorType
ThroughputBenchmark TracingState TupleType Type TypedStorage USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType
UntypedStorage Use Value abs_ acos_ acosh_ adaptive_avg_pool1d adaptive_max_pool1d addmv_ affine_grid_generator
alias_copy alpha_dropout alpha_dropout_ ao arccos_ arccosh arccosh_ arcsin_ arcsinh arcsinh_ arctan_ arctanh arctanh_
are_deterministic_algorithms_enabled as_strided_ as_strided_copy as_strided_scatter asarray asin_ asinh_ atan_ atanh_
autocast_decrement_nesting autocast_increment_nesting avg_pool1d bartlett_window batch_norm batch_norm_backward_elemt
batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
batch_norm_update_stats bilinear binary_cross_entropy_with_logits binomial bit bits16 bits1x8 bits2x4 bits4x2 bits8
blackman_window builtins ccol_indices_copy cdouble ceil_ celu celu_ cfloat chain_matmul chalf channel_shuffle
channels_last channels_last_3d cholesky cholesky_inverse cholesky_solve choose_qparams_optimized clamp_ clamp_max_
clamp_min_ classes classproperty clear_autocast_cache clip_ col_indices_copy compile compiled_with_cxx11_abi compiler
complex complex128 complex32 complex64 cond conj conj_physical conj_physical_ constant_pad_nd contiguous_format conv1d
conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cos_ cosh_ cosine_embedding_loss
cosine_similarity cpp cpu crow_indices_copy ctc_loss ctypes cudnn_affine_grid_generator cudnn_batch_norm
cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
cudnn_is_acceptable deg2rad_ dequantize detach_ detach_copy diagonal_copy diagonal_scatter digamma distributed dropout
dropout_ dsmm dsplit eig embedding embedding_bag embedding_renorm_ empty_permuted empty_quantized empty_strided erf_
erfc_ erfinv exp2_ exp_ expand_copy expm1_ export fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
fbgemm_pack_quantized_matrix feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ fft fill
fill_ fix fix_ float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu floor_ fmax
fmin fork frac_ frexp frobenius_norm from_dlpack from_file frombuffer func functional functools
fused_moving_avg_obs_fake_quant futures fx gcd_ geqrf get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
get_autocast_ipu_dtype get_autocast_xla_dtype get_deterministic_debug_mode get_device_module get_file_path
get_float32_matmul_precision get_num_interop_threads glob gradient grid_sampler grid_sampler_2d grid_sampler_3d
group_norm gru gru_cell hardshrink has_lapack has_mkl has_openmp has_spectral hash_tensor hinge_embedding_loss histogram
histogramdd hsmm hspmm hub i0 i0_ igamma igammac imag import_ir_module import_ir_module_from_buffer importlib index_fill
index_put_ index_reduce indices_copy init_num_threads inspect instance_norm int1 int2 int3 int4 int5 int6 int7 int_repr
is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
is_autocast_ipu_enabled is_autocast_xla_enabled is_conj is_deterministic_algorithms_warn_only_enabled is_distributed
is_neg is_same_size is_signed is_storage is_vulkan_available is_warn_always_enabled isposinf isreal istft jagged jit
kaiser_window kl_div layer_norm layout lcm_ ldexp ldexp_ legacy_contiguous_format library load lobpcg log10_ log1p_
log2_ log_ logdet logit_ lstm lstm_cell lstsq lu lu_solve lu_unpack margin_ranking_loss masked math matrix_exp
matrix_rank max_pool1d max_pool1d_with_indices max_pool2d max_pool3d memory_format merge_type_from_type_comment
miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution
mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer monitor mps mtia multiprocessing
mvlgamma nan_to_num_ narrow_copy native_batch_norm native_channel_shuffle native_dropout native_group_norm
native_layer_norm native_norm neg_ negative_ nested nextafter nonzero_static norm_except_dim nuclear_norm onnx ops orgqr
ormqr os overrides package pairwise_distance parse_ir parse_schema parse_type_comment pca_lowrank pdist
per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric
permute_copy pixel_shuffle pixel_unshuffle platform poisson poisson_nll_loss polar polygamma prelu
prepare_multiprocessing_environment preserve_format profiler profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 put
q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint32 qint8 qr qscheme
quantization quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru
quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
quantized_rnn_relu_cell quantized_rnn_tanh_cell quasirandom quint2x4 quint4x2 quint8 rad2deg_ range real reciprocal_
relu_ renorm resize_as_ resize_as_sparse_ resolve_conj resolve_neg return_types rms_norm rnn_relu rnn_relu_cell rnn_tanh
rnn_tanh_cell round_ row_indices_copy rrelu rrelu_ rsqrt_ saddmm save scatter_add segment_reduce select_copy
select_scatter selu selu_ serialization set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype
set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled set_default_tensor_type
set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_warn_always
sigmoid_ signal sin_ sinc_ sinh_ slice_copy slice_inverse slice_scatter slogdet smm solve sparse sparse_bsc
sparse_bsc_tensor sparse_bsr sparse_bsr_tensor sparse_compressed_tensor sparse_coo sparse_coo_tensor sparse_csc
sparse_csc_tensor sparse_csr sparse_csr_tensor split_copy split_with_sizes split_with_sizes_copy spmm sqrt_ square_
squeeze_copy sspaddmm stft storage svd svd_lowrank sym_constrain_range sym_constrain_range_for_size sym_float
sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum symeig sys t_copy tan_ tanh_ textwrap
thread_safe_generator threading threshold threshold_ to_dlpack torch torch_version transpose_copy triangular_solve
triplet_margin_loss trunc_ types uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 unbind_copy unfold_copy
unify_type_list unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy values_copy version view_as_complex
view_as_complex_copy view_as_real view_as_real_copy view_copy vmap wait warnings while_loop windows xlogy_ xpu zero_
""",
    "torch.accelerator": """
Any Graph cache current_device_idx current_device_index current_stream deprecated device_index empty_cache
empty_host_cache get_device_capability get_memory_info graphs max_memory_allocated max_memory_reserved memory
memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats reset_peak_memory_stats set_device_idx
set_device_index set_stream synchronize torch
""",
    "torch.autograd": """
DeviceType Mapping NestedIOFunction ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState SavedTensor Variable
anomaly_mode cast detect_anomaly enable_grad enforce_grad_layout_policy forward_ad grad_mode gradcheck gradgradcheck
graph handle_torch_function has_torch_function inference_mode is_multithreading_enabled is_tensor_like
is_view_replay_enabled kineto_available no_grad overload profiler profiler_legacy profiler_util set_detect_anomaly
set_grad_enabled set_multithreading_enabled torch variable warnings
""",
    "torch.autograd.functional": """
fwAD hessian hvp jvp torch vhp vjp
""",
    "torch.backends": """
cpu cusparselt kleidiai m mha miopen mkl mkldnn nnpack openmp opt_einsum python_native quantized
""",
    "torch.backends.cuda": """
Any SDPAParams SDPBackend allow_fp16_bf16_reduction_math_sdp blas_workspace_size can_use_cudnn_attention
can_use_efficient_attention can_use_flash_attention contextlib cuBLASModule cuFFTPlanCache cuFFTPlanCacheAttrContextProp
cuFFTPlanCacheManager cublas_workspace_size cublaslt_workspace_size cudnn_sdp_enabled cufft_plan_cache deprecated
enable_cudnn_sdp enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp flash_sdp_enabled
fp16_bf16_reduction_math_sdp_allowed is_ck_sdpa_available is_flash_attention_available math_sdp_enabled
mem_efficient_sdp_enabled preferred_blas_library preferred_linalg_library preferred_rocm_fa_library sdp_kernel torch
""",
    "torch.backends.cudnn": """
m
""",
    "torch.backends.mps": """
Optional TYPE_CHECKING get_core_count get_name is_macos13_or_newer is_macos_or_newer torch
""",
    "torch.cuda": """
AcceleratorError Any BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CUDAGraph
CUDAPluggableAllocator Callable CharStorage CharTensor ComplexDoubleStorage ComplexFloatStorage CudaError
DEVICE_REQUIREMENT DeferredCudaCallError Device DoubleStorage DoubleTensor Event ExternalStream FloatStorage FloatTensor
GreenContext HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor MemPool NewType Optional
OutOfMemoryError PYTORCH_RELEASES_CODE_CC ShortStorage ShortTensor Stream StreamContext TYPE_CHECKING amp
caching_allocator_alloc caching_allocator_delete caching_allocator_disabled caching_allocator_enable
can_device_access_peer cast change_current_allocator check_error classproperty clock_rate cudaStatus cudart
current_blas_handle current_device current_solver_handle current_stream default_generators default_stream device
device_memory_used device_of gds get_allocator_backend get_arch_list get_device_capability get_device_name
get_device_properties get_gencode_flags get_per_process_memory_fraction get_rng_state get_rng_state_all
get_stream_from_external get_sync_debug_mode graph graph_pool_handle graphs green_contexts has_half has_magma
host_memory_stats host_memory_stats_as_nested_dict importlib init initial_seed ipc_collect is_bf16_supported
is_current_stream_capturing is_initialized is_tf32_supported jiterator list_gpu_processes lru_cache
make_graphed_callables max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory memory_allocated
memory_cached memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary memory_usage nccl
nvtx os platform power_draw profiler random reset_accumulated_host_memory_stats reset_accumulated_memory_stats
reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats seed seed_all
set_device set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream set_sync_debug_mode sparse stream
streams synchronize temperature threading torch traceback tunable use_mem_pool utilization warnings
""",
    "torch.distributions": """
AbsTransform AffineTransform Bernoulli Beta Binomial CatTransform Cauchy Chi2 ComposeTransform ContinuousBernoulli
CorrCholeskyTransform CumulativeDistributionTransform Dirichlet Distribution ExpTransform Exponential ExponentialFamily
FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel HalfCauchy HalfNormal Independent IndependentTransform
InverseGamma Kumaraswamy LKJCholesky Laplace LogNormal LogisticNormal LowRankMultivariateNormal LowerCholeskyTransform
MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial Normal OneHotCategorical
OneHotCategoricalStraightThrough Pareto Poisson PositiveDefiniteTransform PowerTransform RelaxedBernoulli
RelaxedOneHotCategorical ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform
StickBreakingTransform StudentT TanhTransform Transform TransformedDistribution Uniform VonMises Weibull Wishart
bernoulli beta biject_to binomial categorical cauchy chi2 constraint_registry constraints continuous_bernoulli dirichlet
distribution exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
identity_transform independent inverse_gamma kl kl_divergence kumaraswamy laplace lkj_cholesky log_normal
logistic_normal lowrank_multivariate_normal mixture_same_family multivariate_normal negative_binomial normal
one_hot_categorical pareto poisson register_kl relaxed_bernoulli relaxed_categorical studentT transform_to
transformed_distribution transforms uniform utils von_mises weibull wishart
""",
    "torch.linalg": """
cholesky_ex common_notes cond diagonal eig eigvals householder_product inv_ex ldl_factor ldl_factor_ex ldl_solve lu
lu_factor lu_factor_ex lu_solve matmul multi_dot slogdet solve_ex solve_triangular tensorinv tensorsolve vander vecdot
""",
    "torch.nn": """
AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool3d AlphaDropout AvgPool3d BatchNorm3d CTCLoss ChannelShuffle
CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv3d ConvTranspose1d
ConvTranspose2d ConvTranspose3d CrossMapLRN2d DataParallel Dropout3d EmbeddingBag FeatureAlphaDropout Fold
FractionalMaxPool2d FractionalMaxPool3d InstanceNorm1d InstanceNorm2d InstanceNorm3d LPPool1d LPPool2d LPPool3d
LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LinearCrossEntropyLoss
LinearCrossEntropyOptions LocalResponseNorm MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d MultiLabelMarginLoss
MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d PixelShuffle PixelUnshuffle RNNBase RNNCellBase RReLU ReflectionPad1d
ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d Softmax2d SyncBatchNorm
TripletMarginWithDistanceLoss UninitializedBuffer UninitializedParameter UpsamplingBilinear2d UpsamplingNearest2d
ZeroPad1d ZeroPad2d ZeroPad3d attention common_types factory_kwargs grad intrinsic modules parallel qat quantizable
quantized
""",
    "torch.nn.functional": """
BroadcastingList1 BroadcastingList2 BroadcastingList3 DType GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES
Optional ScalingType SwizzleType TYPE_CHECKING adaptive_avg_pool3d adaptive_max_pool1d_with_indices
adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout
assert_int_or_pair avg_pool3d boolean_dispatch celu_ channel_shuffle conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d ctc_loss dataclasses dropout1d dropout2d dropout3d elu_ embedding_bag feature_alpha_dropout fold
fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices grad
grid_sample grouped_mm handle_torch_function hardtanh_ has_torch_function has_torch_function_unary
has_torch_function_variadic importlib instance_norm leaky_relu_ linear_cross_entropy local_response_norm lp_pool1d
lp_pool2d lp_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d
max_unpool2d max_unpool3d multi_head_attention_forward multi_margin_loss multilabel_margin_loss
multilabel_soft_margin_loss native_channel_shuffle np pdist pixel_shuffle pixel_unshuffle relu_ reproducibility_notes
rrelu rrelu_ scaled_grouped_mm scaled_mm selu_ sparse_support_notes tf32_notes threshold_ torch
triplet_margin_with_distance_loss upsample upsample_bilinear upsample_nearest
""",
    "torch.nn.init": """
Callable Literal ParamSpec TypeVar constant dirac dirac_ kaiming_normal kaiming_uniform normal orthogonal orthogonal_
sparse sparse_ torch uniform warnings xavier_normal xavier_uniform
""",
    "torch.nn.utils": """
clip_grad clip_grad_norm clip_grads_with_norm_ convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format
convert_parameters fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion init
memory_format parametrizations parametrize remove_spectral_norm remove_weight_norm skip_init spectral_norm stateless
weight_norm
""",
    "torch.nn.utils.rnn": """
Any Callable Iterable NamedTuple PackedSequence PackedSequence_ Self TypeVar bind copy_method_params invert_permutation
pack_padded_sequence pack_sequence pad_packed_sequence torch unpack_sequence unpad_sequence warnings
""",
    "torch.optim": """
ASGD Adadelta Adafactor Adamax LBFGS Muon NAdam RAdam Rprop SparseAdam swa_utils swap_in_optimizer_params_and_state
""",
    "torch.optim.lr_scheduler": """
EPOCH_DEPRECATION_WARNING Literal Self SupportsFloat TYPE_CHECKING Tensor TypedDict cast inf override partial ref types
warnings
""",
    "torch.random": """
Generator TYPE_CHECKING contextlib thread_safe_generator torch warnings
""",
    "torch.special": """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
chebyshev_polynomial_w common_args digamma erf erfc erfcx erfinv exp2 expm1 gammainc gammaln hermite_polynomial_h
hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit
logsumexp modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multi_dim_common multigammaln ndtr
ndtri polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax
spherical_bessel_j0 torch xlog1py zeta
""",
    "torch.testing": """
FileCheck assert_allclose make_tensor
""",
    "torch.utils": """
ThroughputBenchmark backcompat backend_registration checkpoint cmake_prefix_path collect_env copyreg cpp_backtrace
deterministic dlpack generate_methods_for_privateuse1_backend get_cpp_backtrace hooks rename_privateuse1_backend
set_module swap_tensors throughput_benchmark torch weak weakref
""",
    "torch.utils.data": """
ChainDataset DFIterDataPipe DataChunk DistributedSampler IterDataPipe MapDataPipe StackDataset argument_validation
dataloader datapipes dataset default_convert distributed functional_datapipe get_worker_info graph graph_settings
guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled sampler
""",
    "numpy": """
ScalarType acos acosh amax amin angle any apply_over_axes arccosh arcsinh argpartition around array2string array_equiv
asanyarray asarray_chkfinite ascontiguousarray asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_3d
bartlett base_repr binary_repr bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_right_shift blackman
bmat bool broadcast broadcast_arrays broadcast_shapes busday_count busday_offset busdaycalendar bytes_ c_ can_cast
cdouble char character choose clongdouble common_type complex128 complex256 complex64 complexfloating compress concat
conj conjugate copy copyto core correlate cross csingle ctypeslib cumulative_prod cumulative_sum datetime64
datetime_as_string datetime_data diag_indices_from diagflat divmod dsplit dtypes ediff1d einsum_path emath euler_gamma
extract f2py fabs fft fix flatiter flexible float128 float_power fmax fmin format_float_positional
format_float_scientific frexp from_dlpack frombuffer fromfile fromiter frompyfunc fromregex fromstring gcd genfromtxt
geomspace get_include getbufsize geterr geterrcall hamming hanning histogram2d histogram_bin_edges histogramdd i0 imag
index_exp indices info intc is_busday iscomplex iscomplexobj isdtype isfortran isnat isneginf isposinf isreal isrealobj
iterable kaiser lcm ldexp left_shift lexsort lib little_endian load loadtxt logaddexp logaddexp2 longdouble longlong ma
mask_indices matrix matrix_transpose matvec may_share_memory memmap mgrid min_scalar_type mintypecode modf nanargmax
nanargmin nancumprod nancumsum nanmedian nanpercentile nanprod nanquantile nanstd nanvar nditer nested_iters nextafter
object_ ogrid packbits partition permute_dims piecewise place poly poly1d polyadd polyder polydiv polyfit polyint
polymul polynomial polysub pow put put_along_axis putmask r_ ravel_multi_index real real_if_close rec recarray record
require resize right_shift rollaxis roots row_stack s_ save savetxt savez savez_compressed sctypeDict select setbufsize
seterr seterrcall setxor1d shares_memory show_config show_runtime signbit sinc sort_complex spacing str_ strings test
testing timedelta64 tril_indices_from trim_zeros triu_indices_from typecodes typename typing uint uint16 uint32 uint64
uintc uintp ulong ulonglong unique_all unique_counts unique_inverse unique_values unpackbits unstack ushort vander
vecdot vecmat void
""",
    "numpy.linalg": """
cond cross diagonal eig eigh eigvals lstsq matmul matrix_norm matrix_transpose multi_dot outer qr slogdet svdvals
tensordot tensorinv tensorsolve test trace vecdot vector_norm
""",
    "numpy.random": """
BitGenerator MT19937 PCG64 PCG64DXSM Philox SFC64 SeedSequence beta binomial bit_generator bytes chisquare dirichlet f
gamma geometric get_bit_generator gumbel hypergeometric laplace logistic lognormal logseries mtrand multinomial
multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto poisson power random_integers rayleigh
sample set_bit_generator standard_cauchy standard_exponential standard_gamma standard_t test triangular vonmises wald
weibull zipf
""",
    "Tensor": """
_addmm_activation _autocast_to_full_precision _autocast_to_reduced_precision _backward_hooks _cdata
_clear_non_serializable_cached_data _coalesced_ _conj _conj_physical _dimI _dimV _dtensor__new__ _fix_weakref _grad
_grad_fn _has_symbolic_sizes_strides _indices _is_all_true _is_any_true _is_zerotensor _lazy_clone _make_subclass
_make_wrapper_subclass _neg_view _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides _nnz
_philox_normal_ _philox_uniform_ _post_accumulate_grad_hooks _python_dispatch _reduce_ex_internal _rev_view_func_unsafe
_sparse_mask_projection _to_dense _to_sparse _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr _typed_storage
_use_count _values _view_func _view_func_unsafe absolute_ addbmm_ addmm_ addmv_ apply_ arccos_ arccosh arccosh_ arcsin
arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ as_strided_ as_strided_scatter as_subclass
atan2_ baddbmm_ bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ cauchy_
ccol_indices cdouble cfloat chalf cholesky cholesky_inverse cholesky_solve clamp_max_ clamp_min_ coalesce col_indices
conj conj_physical conj_physical_ const_data_ptr copysign_ crow_indices cumprod_ cumsum_ deg2rad_ dense_dim dequantize
diagflat diagonal_scatter digamma digamma_ dim_order dsplit eig eq_ erfinv erfinv_ fix fix_ float_power_ fmax fmin frac_
frexp gcd_ ge_ geometric_ geqrf ger greater greater_ greater_equal greater_equal_ gt_ hardshrink hash_tensor heaviside_
histogram hypot_ i0 i0_ igamma igamma_ igammac igammac_ index index_reduce index_reduce_ indices int_repr ipu
is_coalesced is_conj is_distributed is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed isposinf
isreal istft kron lcm_ ldexp ldexp_ le_ less less_ less_equal less_equal_ log_normal_ logaddexp logdet logical_and_
logical_or_ logical_xor_ logit_ lstsq lt_ lu lu_solve map2_ map_ matrix_exp module_load mtia mvlgamma mvlgamma_
narrow_copy ne_ negative_ new new_empty new_empty_strided nextafter nextafter_ nonzero_static not_equal not_equal_ orgqr
ormqr pin_memory pinverse polygamma polygamma_ prelu put put_ q_per_channel_axis q_per_channel_scales
q_per_channel_zero_points q_scale q_zero_point qr qscheme rad2deg_ record_stream register_post_accumulate_grad_hook
reinforce renorm renorm_ resize resize_ resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg row_indices
scatter_reduce_ select_scatter set_ sgn_ share_memory_ sinc_ slice_inverse slice_scatter slogdet smm solve sparse_dim
sparse_mask sparse_resize_ sparse_resize_and_clear_ split_with_sizes sspaddmm stft storage storage_type sum_to_size svd
symeig to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr
triangular_solve unsafe_chunk unsafe_split unsafe_split_with_sizes values volatile where xlogy_ xpu
""",
    "Module": """
T_destination _call_impl _compiled_call_impl _get_backward_hooks _get_backward_pre_hooks _load_from_state_dict
_maybe_warn_non_full_backward_hook _register_load_state_dict_pre_hook _register_state_dict_hook
_replicate_for_data_parallel _slow_forward _wrapped_call_impl call_super_init compile dump_patches get_extra_state ipu
mtia register_backward_hook register_full_backward_hook register_full_backward_pre_hook
register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_post_hook
register_state_dict_pre_hook set_extra_state set_submodule share_memory to_empty xpu
""",
    "Optimizer": """
OptimizerPostHook OptimizerPreHook _accelerator_graph_capture_health_check _cuda_graph_capture_health_check
_group_tensors_by_device_and_dtype _optimizer_step_code _patch_step_function _process_value_according_to_param_policy
profile_hook_step register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_post_hook
register_state_dict_pre_hook register_step_post_hook register_step_pre_hook
""",
    "LRScheduler": """
_get_lr_called_within_step _is_initial _update_lr
""",
    "DataLoader": """
_DataLoader__initialized _auto_collation _get_iterator _index_sampler _is_protocol check_worker_number_rationality
multiprocessing_context
""",
    "Categorical": """
_extended_shape _get_checked_instance _new _validate_args _validate_sample arg_constraints batch_shape cdf
enumerate_support event_shape expand has_enumerate_support has_rsample icdf mean mode param_shape perplexity rsample
sample_n set_default_validate_args stddev support variance
""",
    "ndarray": """
argpartition base byteswap choose compress conj conjugate ctypes data device dump dumps flags getfield imag mT partition
put setfield setflags to_device tobytes tofile
""",
    "generic": """
T all any argmax argmin argsort astype base byteswap choose clip compress conj copy cumprod cumsum data device diagonal
dump dumps fill flags flat flatten getfield item itemsize max mean min nbytes ndim nonzero prod put ravel real repeat
reshape resize round searchsorted setfield setflags shape size sort squeeze std strides sum swapaxes take to_device
tobytes tofile tolist trace transpose var view
""",
    "Generator": """
_bit_generator _poisson_lam_max beta binomial bit_generator bytes chisquare dirichlet exponential f gamma geometric
gumbel hypergeometric laplace logistic lognormal logseries multinomial multivariate_hypergeometric multivariate_normal
negative_binomial noncentral_chisquare noncentral_f pareto permuted poisson power rayleigh spawn standard_cauchy
standard_exponential standard_gamma standard_t triangular vonmises wald weibull zipf
""",
    "RandomState": """
_bit_generator _poisson_lam_max beta binomial bytes chisquare dirichlet f gamma geometric gumbel hypergeometric laplace
logistic lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto
poisson power random_integers rayleigh standard_cauchy standard_exponential standard_gamma standard_t tomaxint
triangular vonmises wald weibull zipf
""",
    "GRU": """
_init_flat_weights _update_flat_weights _weights_have_changed all_weights check_forward_args check_hidden_size
check_input get_expected_hidden_size permute_hidden
""",
    "LSTM": """
_init_flat_weights _update_flat_weights _weights_have_changed all_weights check_forward_args check_hidden_size
check_input get_expected_cell_size get_expected_hidden_size permute_hidden
""",
    "RNN": """
_init_flat_weights _update_flat_weights _weights_have_changed all_weights check_forward_args check_hidden_size
check_input get_expected_hidden_size permute_hidden
""",
    "Sequential": """
_get_item_by_idx
""",
    "ModuleList": """
_get_abs_string_index
""",
    "ParameterList": """
_get_abs_string_index
""",
    "ParameterDict": """
_key_to_attr copy fromkeys get popitem setdefault
""",
    "MultiheadAttention": """
_reset_parameters merge_masks
""",
    "LazyLinear": """
_infer_parameters _lazy_load_hook cls_to_become has_uninitialized_params initialize_parameters
""",
}

OWN = {
    "torch": """
Any FUNCTIONS annotations arguments arithmetic composed creation dtypes gradients graph_names indexing inplace joining
kernels missing modes numbers ordering printing products randomness reductions shapes statistics tensors ties views
""",
    "torch.accelerator": """
annotations missing_getattr
""",
    "torch.autograd": """
Any Tensor annotations as_list check_start missing_getattr node_of ones_like refuse_set run_backward zeros_like
""",
    "torch.autograd.functional": """
Callable Tensor annotations grad missing_getattr refuse refuse_set stack zeros zeros_like
""",
    "torch.backends": """
Any ModuleType SimpleNamespace missing_getattr settings tell_names
""",
    "torch.backends.cudnn": """
benchmark deterministic enabled is_available
""",
    "torch.cuda": """
annotations missing_getattr
""",
    "torch.distributions": """
Any NoReturn Sequence Tensor annotations finfo logsumexp missing_getattr product raise_missing softmax
""",
    "torch.linalg": """
Any Axes CANCELLED Callable FLOATING Factors NUMBERS NamedResults NoReturn SINGULAR Sequence TYPE_NAMES Tensor
annotations axes_of check_matrix check_pivot dtype eye factors finfo float64 math missing_getattr mul named_results
norm_of of_each_matrix record_step refuse refuse_rounding refuse_set rotate singular_values solution stack tensor
without_gradient wraps
""",
    "torch.nn": """
containers functions layers losses module recurrent transformer windows
""",
    "torch.nn.functional": """
ALL Axes C_NAMES FLOATING Kind NUMBERS Number OF_TORCH OF_TWO Rule Sequence TYPE_NAMES activation annotations arange
axis_of bool_ broadcast_tensors check_arguments check_floating check_mixed empty_like exp_of finfo float32 full
implicit_axis int32 int64 maybe_in_place missing_getattr ones padding_index reduced reductions refuse refuse_older
refuse_set tensor type_name unary_op where whole zeros_like
""",
    "torch.nn.init": """
Generator annotations empty_like fan_of fans missing_getattr no_grad refuse where
""",
    "torch.nn.utils": """
Any Iterable Tensor annotations cat gradients_of missing_getattr no_grad refuse_set stack
""",
    "torch.nn.utils.rnn": """
Sequence annotations full missing_getattr
""",
    "torch.optim": """
Any Callable Iterable NoReturn Tensor annotations check_settings deepcopy defaultdict enable_grad full_like kernel_for
maximum missing_getattr no_grad parameters_of raise_missing refuse_set settings tensor type_name zeros_like
""",
    "torch.optim.lr_scheduler": """
Callable Factor FunctionType Iterable NoReturn Sequence absent missing_getattr note_steps raise_missing refuse
refuse_set set_momentum warn
""",
    "torch.random": """
Any Iterator annotations contextmanager missing_getattr
""",
    "torch.special": """
FLOATING annotations check_tensors common_shape float32 lower_series math missing_getattr record_step result_type
tensor_of upper_fraction upper_gamma where without_gradient zeros_like
""",
    "torch.testing": """
Any TOLERANCES Tensor annotations as_tensor bfloat16 bool_ difference float16 float32 float64 isclose missing_getattr
pairs refuse_set text_of_mismatch
""",
    "torch.utils": """
missing_getattr
""",
    "torch.utils.data": """
Any Callable Generator Iterable Iterator NUMBERS NoReturn Sequence Tensor a_seed accumulate annotations
default_generator float64 islice math missing_getattr multinomial raise_missing randint randperm refuse refuse_set stack
tensor
""",
    "numpy": """
Any AxisError CHARACTERS Callable EMPTY FunctionType INTEGERS Iterator KINDS ModuleType NAMED NUMBERS NoReturn OF_CLASS
OF_EACH OPERATORS OPTIONS OTHERS OTHER_MASK OUT_OF_RANGE REDUCTIONS SAME SHORT SIGNS Sequence UFUNCS UFuncTypeError
UNDOCUMENTED VALID_INDICES WHOLE all_integers annotations any_ any_floating apply_to_two array_or_number as_floating
as_given as_numpys as_tensor axes_of_key builtins checked_dtype creator division elementwise in_place inhomogeneous
joined math missing_getattr missing_message more number_of numbers of_same_kind of_tensors of_two operator plain_key
printing product product_from_left product_of_matrices promote_operands promoted raise_missing re reduction
refuse_reversed refuse_tensor refuse_text_and_complex regular_shape repr_of select_items shapes statistics stays_tensor
str_of takewhile tensor_of torch torch_dtype with_numpys_errors wraps write_result
""",
    "numpy.linalg": """
Any Callable annotations array_or_number as_floating as_tensor missing_getattr missing_message ndarray of_matrix torch
""",
    "numpy.random": """
AREA Any COMMON Callable HALF INTEGERS NoReturn POOL Size State TAIL WHOLE accumulate annotations array_or_number
as_tensor cache chosen drawn layers math missing_getattr missing_message ndarray number_of os raise_missing
shuffle_in_place shuffled small_enough state_of_seed torch torch_dtype
""",
}
