// A matrix as HTML that needs no script: what is above 0 and what is below are PNGs that mask a colour of the style.
import { deflateSync } from "node:zlib";

const LEVELS = 15; // of opacity, besides none: 4 bits a pixel, which is more than an eye tells apart here

/** The pictures that stand behind a heatmap's canvas; the canvas itself describes them. */
export function still({ rows, width, height, most }) {
  const matrix = Array.from({ length: height }, (_, row) => Array.from(rows(row)));
  const layer = (kind, sign) => {
    const levels = matrix.map((row) => row.map((x) => level((sign * x) / most)));
    if (levels.flat().every((each) => each === 0)) return "";
    const png = encoded(levels, width).toString("base64");
    return `<i class="${kind}" style="mask-image: url(data:image/png;base64,${png})"></i>`;
  };
  return layer("qkv-above", 1) + layer("qkv-below", -1);
}

const level = (share) => Math.round(LEVELS * Math.min(1, Math.max(0, share)));

/** A PNG of one colour, as opaque as the levels say. */
function encoded(levels, width) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(levels.length, 4);
  header.set([4, 3], 8); // bits a pixel, which are places in a palette
  const opacities = Array.from({ length: LEVELS + 1 }, (_, i) => Math.round((255 * i) / LEVELS));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("PLTE", Buffer.alloc(3 * (LEVELS + 1))),
    chunk("tRNS", Buffer.from(opacities)),
    chunk("IDAT", deflateSync(Buffer.concat(levels.map(line)), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A line of pixels, two a byte, after the byte that says that it is not filtered. */
function line(row) {
  const bytes = Buffer.alloc(1 + Math.ceil(row.length / 2));
  for (const [x, each] of row.entries()) bytes[1 + (x >> 1)] |= x % 2 ? each : each << 4;
  return bytes;
}

function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [data.length, checksum(named)].map((number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    return bytes;
  });
  return Buffer.concat([length, named, sum]);
}

/** CRC-32, as PNG's specification gives it. */
function checksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
