/**
 * Files of OVAs: one archive on each cluster with the OVA. Changing calls are idempotent and resolve when durable.
 * Source: behaviour vmm.md 1.11, 3.6.
 */
import type { Digest, Digests } from './content-source.ts'

export interface OvaFiles {
  /** Whether the server of the URL can be reached. Requests nothing from it. */
  canReach(url: string): Promise<boolean>
  /** Copies the disks as they are at the first call. @throws DriverError, final, when one does not exist */
  freeze(file: OvaFile, disks: readonly DiskToFreeze[]): Promise<readonly FrozenDisk[]>
  /** Writes the archive: the texts, then the frozen disks. `report` as in `fetch`. */
  write(file: OvaFile, texts: readonly TextFile[], report: Report): Promise<Written>
  /** @throws DriverError, final, with a cause for people, when the URL cannot be read */
  fetch(file: OvaFile, url: string, report: Report): Promise<Written>
  /** The expected digest of an earlier caller takes the place of the URL's own. */
  digests(file: OvaFile): Promise<Digests>
  /** Returns the actual digest if it differs. The first expected digest of a URL defines its content. */
  verify(file: OvaFile, expected: Digest): Promise<string | undefined>
  /** The same bytes each time. @throws DriverError, final, when the file does not exist */
  read(file: OvaFile): AsyncIterable<Uint8Array>
  /** Also removes frozen disks and a partial file; an absent one is no fault. */
  remove(file: OvaFile): Promise<void>
}

/** Gets the progress, 0 to 1; if it throws, the work stops, and a partial file stays until `remove`. */
export type Report = (share: number) => Promise<void>

export interface OvaFile {
  readonly ovaExtId: string
  readonly clusterExtId: string
}

export type DiskFormat = 'QCOW2' | 'VMDK'

export interface DiskToFreeze {
  readonly diskExtId: string
  readonly sizeBytes: number
  readonly format: DiskFormat
  /** Of its file in the archive. */
  readonly name: string
}

export interface FrozenDisk {
  readonly name: string
  /** Of the file, as the digest. */
  readonly sizeBytes: number
  readonly sha256: string
}

export interface TextFile {
  readonly name: string
  readonly text: string
}

export interface Written {
  readonly sizeBytes: number
}
