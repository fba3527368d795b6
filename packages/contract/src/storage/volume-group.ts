import { read } from '../operation.ts'
import * as s from '../schema.ts'
import { volumeReaders } from '../volumes/roles.ts'
import { VolumeGroup as Group } from '../volumes/volume-group.ts'
import { readRate } from './rates.ts'

const inStorage = <S extends s.AnySchema>(schema: S): S =>
  s.mapped(schema, (each) =>
    each.type === 'object' && each.objectType !== undefined
      ? { ...each, objectType: each.objectType.replace(/^volumes\./, 'storage.') }
      : each,
  )

/** Source: specification 4.2; behaviour volumes-storage.md 1.8, 2. */
export const VolumeGroup = inStorage(Group.schema)

export const volumeGroupOperations = {
  getVolumeGroupById: read('/config/volume-groups/{extId}', VolumeGroup, {
    of: Group,
    envelope: 'storage.v4.config.VolumeGroupResponse',
    roles: volumeReaders,
    rateLimit: readRate,
    deprecated: { successor: '/api/volumes/v4.2/config/volume-groups/{extId}' },
  }),
}
