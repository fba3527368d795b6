/** Files of OVAs: one archive on each cluster with the OVA. Idempotent; resolve when durable. Source: behaviour vmm.md 1.11, 3.6. */
import type { ByteRange, Digest, Digests, ObjectOrigin, Transfer, UrlAccess } from './content-source.ts'

export interface OvaFiles {
  /** Whether the server of the URL can be reached. Requests nothing from it. */
  canReach(url: string): Promise<boolean>
  /** Keeps the disks as of the first call. @throws DriverError, final, when one does not exist */
  freeze(file: OvaFile, disks: readonly DiskToFreeze[]): Promise<readonly FrozenDisk[]>
  /** Writes the archive: the texts, then the frozen disks. */
  write(file: OvaFile, texts: readonly TextFile[], transfer: Transfer): Promise<Written>
  /** A partial file stays until `remove`. @throws DriverError, final, with a cause for people, when it cannot be read */
  fetch(file: OvaFile, origin: ObjectOrigin | UrlAccess, transfer: Transfer): Promise<Written>
  /** @throws DriverError, final, when the other cluster does not have the file */
  copy(from: OvaFile, to: OvaFile, transfer: Transfer): Promise<void>
  /** `areGiven`: digests that an earlier caller expected of the URL replace those of the file. */
  digests(file: OvaFile): Promise<Digests & { readonly areGiven?: true }>
  /** Returns the actual digest if it differs. The first expected digest of a URL defines its content. */
  verify(file: OvaFile, expected: Digest): Promise<string | undefined>
  /** The same bytes each time. @throws DriverError, final, when the file does not exist */
  read(file: OvaFile, part?: ByteRange): AsyncIterable<Uint8Array>
  /** Also removes frozen disks and a partial file; an absent one is no fault. */
  remove(file: OvaFile): Promise<void>
}

export interface OvaFile {
  readonly ovaExtId: string
  readonly clusterExtId: string
}

export type DiskFormat = 'QCOW2' | 'VMDK'

export interface DiskToFreeze {
  readonly diskExtId: string
  readonly sizeBytes: number
  readonly format: DiskFormat
  readonly name: string
}

export interface FrozenDisk {
  readonly name: string
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
