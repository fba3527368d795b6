/** Source: specification 2.2; catalogue volumes.json; behaviour volumes-storage.md 1.2. */
import * as s from '../schema.ts'

const ClusterProjection = s.object('volumes.v4.config.ClusterProjection', {
  clusterExtId: s.readOnly(s.uuid()),
  clusterName: s.readOnly(s.text({ maxLength: 75 })),
})

const VolumeGroupMetadataProjection = s.object('volumes.v4.config.VolumeGroupMetadataProjection', {
  categoryIds: s.readOnly(s.arrayOf(s.text(), { maxItems: 20 })),
  ownerReference: s.readOnly(s.text()),
})

export const expandCluster = { into: 'clusterProjection', shape: ClusterProjection } as const
export const expandMetadata = { into: 'volumeGroupMetadataProjection', shape: VolumeGroupMetadataProjection } as const
