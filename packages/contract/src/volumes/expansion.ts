/**
 * Shapes of the expanded properties of this namespace.
 * Source: specification 2.2; catalogue volumes.json; behaviour volumes-storage.md 1.2.
 */
import { arrayOf, object, readOnly, text, uuid } from '../schema.ts'

const ClusterProjection = object('volumes.v4.config.ClusterProjection', {
  clusterExtId: readOnly(uuid()),
  clusterName: readOnly(text({ maxLength: 75 })),
})

const VolumeGroupMetadataProjection = object('volumes.v4.config.VolumeGroupMetadataProjection', {
  categoryIds: readOnly(arrayOf(text(), { maxItems: 20 })),
  ownerReference: readOnly(text()),
})

export const expandCluster = { into: 'clusterProjection', shape: ClusterProjection } as const
export const expandMetadata = { into: 'volumeGroupMetadataProjection', shape: VolumeGroupMetadataProjection } as const
