import { read } from '../operation.ts'
import type * as s from '../schema.ts'
import { volumeReaders } from '../volumes/roles.ts'
import { VolumeGroup as Group } from '../volumes/volume-group.ts'
import { readRate } from './rates.ts'

/** The same shape under this namespace's type names. */
const inStorage = <S extends s.AnySchema>(schema: S): S => renamed(schema) as S

function renamed(schema: s.AnySchema): s.AnySchema {
  switch (schema.type) {
    case 'object': {
      const fields: Record<string, s.AnySchema> = {}
      for (const [name, field] of Object.entries(schema.fields)) fields[name] = renamed(field)
      const objectType = schema.objectType?.replace(/^volumes\./, 'storage.')
      return { ...schema, ...(objectType === undefined ? {} : { objectType }), fields: fields as s.Fields }
    }
    case 'list':
      return { ...schema, items: renamed(schema.items) }
    case 'oneOf':
      return { ...schema, alternatives: schema.alternatives.map(renamed) }
    default:
      return schema
  }
}

/**
 * The older view of a volume group, with the same fields.
 * Source: specification 4.2; behaviour volumes-storage.md 1.8, 2.
 */
export const VolumeGroup = inStorage(Group.schema)

export const volumeGroupOperations = {
  getVolumeGroupById: read('/config/volume-groups/{extId}', VolumeGroup, {
    of: Group,
    envelope: 'storage.v4.config.VolumeGroupResponse',
    iam: 'View_Volume_Group_Details',
    roles: volumeReaders,
    rateLimit: readRate,
    deprecated: { successor: '/api/volumes/v4.2/config/volume-groups/{extId}' },
  }),
}
