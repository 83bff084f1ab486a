// Archives as `pack.py` writes them, without gzip: zip archives whose files are stored.

const HEADER = 0x04034b50; // begins each file; after the last one comes the archive's table of contents
const HEADER_SIZE = 30;

/** Write the files of an archive below a folder. Python's own zipfile takes twenty times as long.
 * @param {{ mkdirTree: (folder: string) => void, writeFile: (path: string, content: Uint8Array) => void }} FS
 * @param {Uint8Array} archive
 * @param {string} folder */
export function extract(FS, archive, folder) {
  const view = new DataView(archive.buffer, archive.byteOffset);
  let at = 0;
  while (view.getUint32(at, true) === HEADER) {
    const [size, nameSize, extraSize] = [
      view.getUint32(at + 18, true),
      view.getUint16(at + 26, true),
      view.getUint16(at + 28, true),
    ];
    const name = at + HEADER_SIZE;
    const content = name + nameSize + extraSize;
    const path = `${folder}/${new TextDecoder().decode(archive.subarray(name, name + nameSize))}`;
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    FS.writeFile(path, archive.subarray(content, content + size));
    at = content + size;
  }
}
