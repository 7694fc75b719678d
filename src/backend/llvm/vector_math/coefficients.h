// SPDX-License-Identifier: Apache-2.0
// Minimax coefficients, lowest power first, each exactly a float where the name says 32.
// Written by tools/fit/vector_math.py; the exponent after each description is the largest
// relative error of the approximation itself.
#pragma once

namespace tenon::backend::llvm_cpu::vector_math {

// (e^r - 1) / r, |r| <= ln2/2, error relative to e^r: 2^-23.4
inline constexpr double kExp32[] = {
    0x1.fffff60000000p-1, 0x1.fffdc20000000p-2, 0x1.555a7c0000000p-3,
    0x1.573be20000000p-5, 0x1.0fa3ec0000000p-7,
};

// (e^r - 1) / r, |r| <= ln2/2, error relative to e^r - 1: 2^-26.1
inline constexpr double kExpm1F32[] = {
    0x1.0000000000000p+0, 0x1.fffffe0000000p-2, 0x1.5554b20000000p-3,
    0x1.5557020000000p-5, 0x1.1226a60000000p-7, 0x1.6b8cb60000000p-10,
};

// the same for f64: 2^-55.6
inline constexpr double kExpm1F64[] = {
    0x1.0000000000000p+0,  0x1.0000000000005p-1,  0x1.5555555555549p-3,  0x1.55555555521c8p-5,
    0x1.1111111116103p-7,  0x1.6c16c17f018c6p-10, 0x1.a01a0181a458ep-13, 0x1.a019a70c8a032p-16,
    0x1.71de70aed63fep-19, 0x1.28a2439e8f062p-22, 0x1.ae8b8c74a55f3p-26,
};

// 2^r, |r| <= 1/2, for pow of f32 in double: 2^-29.0
inline constexpr double kExp2Pow32[] = {
    0x1.000000026b0ecp+0, 0x1.62e430ca7d2c0p-1,  0x1.ebfbdaccefe19p-3,  0x1.c6aed1372fb24p-5,
    0x1.3b2dc1f9581ebp-7, 0x1.5f4730ba0d581p-10, 0x1.41d1f0786a716p-13,
};

// 2^f, 0 <= f < 1: 2^-23.6
inline constexpr double kExp2Fraction32[] = {
    0x1.fffffe0000000p-1, 0x1.62e4ea0000000p-1, 0x1.ebd6c20000000p-3,
    0x1.c949b80000000p-5, 0x1.26bbd40000000p-7, 0x1.ebaf2c0000000p-10,
};

// (log(1+f) - f + f^2/2) / f^3, 1+f in [sqrt(1/2), sqrt(2)]: 2^-24.9
inline constexpr double kLog32[] = {
    0x1.5556d80000000p-2, -0x1.0003800000000p-2, 0x1.98d8260000000p-3, -0x1.5382a00000000p-3,
    0x1.3172d40000000p-3, -0x1.242ff60000000p-3, 0x1.645fce0000000p-4,
};

// (2 atanh(s)/s - 2) / z, z = s^2, s = f/(2+f): 2^-59.5
inline constexpr double kLog64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff04p-2, 0x1.24924941e339ep-2, 0x1.c71c5212568b0p-3,
    0x1.74663d6845cc0p-3, 0x1.39a1dac156f6bp-3, 0x1.2f04565f8404cp-3,
};

// the same, for pow of f32 in double: 2^-37.6
inline constexpr double kLogPow32[] = {
    0x1.555554fd9352dp-1,
    0x1.999a7a9d12cf5p-2,
    0x1.2438d2be0dad2p-2,
    0x1.e2f726e5eb37bp-3,
};

// (atanh(s)/s - 1 - z/3) / z^2: 2^-73.5
inline constexpr double kLogPow64[] = {
    0x1.9999999999996p-3, 0x1.2492492492f51p-3, 0x1.c71c71c5968bep-4, 0x1.745d18295a4d8p-4,
    0x1.3b1364c7c7e30p-4, 0x1.11206f78b8005p-4, 0x1.de3d6274cce55p-5, 0x1.eac64440d8753p-5,
};

// (sin(r) - r) / r^3 in r^2, |r| <= pi/4: 2^-27.9
inline constexpr double kSin32[] = {
    -0x1.5555460000000p-3,
    0x1.1107740000000p-7,
    -0x1.9951ea0000000p-13,
};

// the same for f64: 2^-57.9
inline constexpr double kSin64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f730p-7,   -0x1.a01a019be9215p-13,
    0x1.71de35552b2d6p-19, -0x1.ae5e4b83cee56p-26, 0x1.5d8b55939f519p-33,
};

// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4: 2^-33.0
inline constexpr double kCos32[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c280000000p-10,
    0x1.99e80c0000000p-16,
};

// the same for f64: 2^-63.9
inline constexpr double kCos64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c15005p-10, 0x1.a01a019c8c7dap-16,
    -0x1.27e4f7ef0db9ep-22, 0x1.1ee9d9c6e4650p-29,  -0x1.8fa553c2586f1p-37,
};

// (atan(x) - x) / x^3 in x^2, |x| <= 1: 2^-25.8
inline constexpr double kAtan32[] = {
    -0x1.5554dc0000000p-2, 0x1.9978ec0000000p-3, -0x1.230a940000000p-3, 0x1.b4deb40000000p-4,
    -0x1.3550f60000000p-4, 0x1.61ef3c0000000p-5, -0x1.0c18fe0000000p-6, 0x1.7eaa260000000p-9,
};

// the same for f64: 2^-57.6
inline constexpr double kAtan64[] = {
    -0x1.5555555555526p-2, 0x1.99999999955afp-3,  -0x1.249249237f412p-3,  0x1.c71c717fca116p-4,
    -0x1.745d11ae17024p-4, 0x1.3b13669607e9cp-4,  -0x1.110e510677750p-4,  0x1.e1bba4f702b5ap-5,
    -0x1.ae5e6c7a6c37bp-5, 0x1.82dac2ee9d3ebp-5,  -0x1.59a3ca5a35cb3p-5,  0x1.2c2df3a074979p-5,
    -0x1.e9f8c689e18adp-6, 0x1.683b3e28acea5p-6,  -0x1.c78ceea1b86fcp-7,  0x1.d7b522e021efap-8,
    -0x1.7a358109b5d89p-9, 0x1.b3f50b464b561p-11, -0x1.3f315855d0600p-13, 0x1.bbe5b61e21babp-17,
};

// (asin(x) - x) / x^3 in x^2, |x| <= 1/2: 2^-27.6
inline constexpr double kAsin32[] = {
    0x1.5555c80000000p-3, 0x1.3302040000000p-4, 0x1.747bba0000000p-5,
    0x1.8c3e280000000p-6, 0x1.595c920000000p-5,
};

// the same for f64: 2^-59.9
inline constexpr double kAsin64[] = {
    0x1.5555555555577p-3, 0x1.333333332e130p-4, 0x1.6db6db721278ap-5, 0x1.f1c71a94ebfb2p-6,
    0x1.6e8bdee10a9b8p-6, 0x1.1c49f04e7607dp-6, 0x1.ca1f8ecadc57ep-7, 0x1.75857e97286cdp-7,
    0x1.613cca0da1cdap-7, 0x1.e5f1f100133eap-9, 0x1.639d84c4b539cp-6, -0x1.57fef812ac164p-6,
    0x1.0b473148204eap-5,
};

// erf(x)/x in x^2, |x| <= 1: 2^-56.0
inline constexpr double kErfSmall64[] = {
    0x1.20dd750429b6dp+0,  -0x1.812746b03799dp-2,  0x1.ce2f21a03f8b9p-4,  -0x1.b82ce311a97dap-6,
    0x1.565bcceeda4f5p-8,  -0x1.c02daeb709f6cp-11, 0x1.f9a296b54d696p-14, -0x1.f4c82f13637ccp-17,
    0x1.b96b5841a449ep-20, -0x1.5b8c72c60ce79p-23, 0x1.d3dddc3654e7fp-27, -0x1.a23eb93186678p-31,
};

// erfc(x) e^(x^2) in x - 7/4, x in [1, 6], error absolute in erf: 2^-56.5
inline constexpr double kErfLarge64[] = {
    0x1.23cfc2f1dc7dfp-2,  -0x1.0c3d5384463c8p-3,  0x1.c8d0cef0f8d81p-5,  -0x1.6cb52fe495424p-6,
    0x1.13648a118e365p-7,  -0x1.8bf716a3e7977p-9,  0x1.106bd5e913e43p-10, -0x1.683889505c929p-12,
    0x1.cb4c5b806bcadp-14, -0x1.1b28f0e0e6a4ep-15, 0x1.5274fac99deefp-17, -0x1.89010a2743db3p-19,
    0x1.bbfd45804cac1p-21, -0x1.e881f99c6f4b7p-23, 0x1.06f4b847b03dfp-24, -0x1.184888e9e9564p-26,
    0x1.2528ef573e4adp-28, -0x1.150fe8b6a37c3p-30, 0x1.96628587604a8p-33, -0x1.7d8bb5ffac1cap-36,
    0x1.4a485419aebe4p-40,
};

// N of erf(x)/x, |x| <= 3.93, is (1 + x^2 N) / Q: 2^-24.9
inline constexpr double kErf32Num[] = {
    0x1.5a465a0000000p-3,  0x1.7f41ce0000000p-5,  0x1.b70c940000000p-9,
    0x1.08aa3c0000000p-12, 0x1.e5c9480000000p-20,
};

// its Q: 2^-24.9
inline constexpr double kErf32Den[] = {
    0x1.c5bf8a0000000p-1, 0x1.c7efec0000000p-2,  0x1.9ec1820000000p-4,
    0x1.b387420000000p-7, 0x1.0eb4880000000p-10, 0x1.1a877c0000000p-15,
};

}  // namespace tenon::backend::llvm_cpu::vector_math
