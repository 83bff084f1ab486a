// Draws a matrix as HTML that needs no script: two PNGs, for the positive and the negative entries, mask colours of the
// style sheet.
import { deflateSync } from "node:zlib";

const LEVELS = 15; // levels of opacity besides 0, so 4 bits per pixel: more levels than an eye can distinguish here

/** The HTML of the pictures behind a heatmap's canvas. The canvas has the description for screen readers. */
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

/** Encode a PNG of one colour, with these opacity levels. */
function encoded(levels, width) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(levels.length, 4);
  header.set([4, 3], 8); // 4 bits per pixel; colour type 3: indices into a palette
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

/** Encode a row of pixels: a filter byte (0, no filter), then two pixels per byte. */
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

/** The CRC-32 checksum of the PNG specification. */
function checksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
