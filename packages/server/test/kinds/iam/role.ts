/** Requests by which suites that cover every kind reach roles. */

import { catalogueId } from '../../../src/core/ids/named-id.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

const operationId = (name: string): string => catalogueId('operation', name)
const role = () => ({ displayName: named(), operations: [operationId('View_Image')] })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createRole': [creating('/iam/v4.1.b2/authz/roles', role)],
  'iam.updateRoleById': [updating('/iam/v4.1.b2/authz/roles', role)],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* operations': [operationId('View_Category')],
}

const seeImages = catalogueId('operation', 'View_Image')

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createRole: (asking) =>
    walk.post(walk.collections.roles, { displayName: walk.name(asking, 'role'), operations: [seeImages] }),
  deleteRole: walk.removing(walk.collections.roles),
}

export const walkEntities = { [walk.collections.roles]: [] }
