/** Images of volume groups' disks, and reverts to them. Idempotent; resolve when durable. Source: volumes-storage.md 1.2 (Revert). */
export interface BlockImages {
  /** The contents of these disks at this moment, all at one. @throws DriverError, final, when a disk is missing */
  snapshotBlocks(images: readonly { readonly imageExtId: string; readonly diskExtId: string }[]): Promise<void>
  /** Disks made from the image keep their contents; an absent image is no fault. */
  deleteImage(imageExtId: string): Promise<void>
  imagesIn(containerExtId: string): readonly BlockImage[]

  /** Ends every session, and holds back what VMs read and write, until `resumeTarget`. */
  suspendTarget(volumeGroupExtId: string): Promise<void>
  resumeTarget(volumeGroupExtId: string): Promise<void>

  /** The group has exactly these disks afterwards: one transaction. @throws DriverError, final, when an image is missing */
  putContents(volumeGroupExtId: string, disks: readonly RevertedDisk[]): Promise<void>
  /** Copies the images of its disks in the background; until then their contents are read from the images. */
  startHydration(volumeGroupExtId: string): Promise<void>
  stopHydration(volumeGroupExtId: string): Promise<void>
  /** Progress of the last revert. @param at milliseconds since 1970, default: now; undefined: no revert had started */
  hydrationOf(volumeGroupExtId: string, at?: number): BlockHydration | undefined
}

export interface BlockImage {
  readonly extId: string
  readonly writtenBytes: number
  /** Shared with no other image or disk. */
  readonly uniqueBytes: number
  /** Absent: it has always been there. */
  readonly createdAt?: number
}

export interface RevertedDisk {
  readonly extId: string
  readonly index: number
  readonly sizeBytes: number
  readonly containerExtId: string
  readonly imageExtId: string
  /** Default: now. A disk that a revert makes again keeps its time. */
  readonly createdAt?: number
}

export interface BlockHydration {
  readonly status: 'COMPLETE' | 'FAIL' | 'IN_PROGRESS'
  readonly remainingBytes: number
}
