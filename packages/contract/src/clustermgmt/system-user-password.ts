/** Source: specification 2.4; catalogue clustermgmt.json; behaviour clustermgmt.md 1.14, 2. */
import { names } from '../names.ts'
import { action, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPv4Address } from '../shapes.ts'

/** Accounts of the systems below the manager, and its own `admin`. Derived from clusters and hosts. */
export const SystemUserPassword = resource('clustermgmt.v4.config.SystemUserPassword', {
  fields: {
    username: s.readOnly(s.text()),
    systemType: s.readOnly(s.enumeration(['PC', 'AOS', 'AHV', 'IPMI'])),
    clusterExtId: s.readOnly(s.uuid()),
    hostIp: s.readOnly(IPv4Address),
    /** DEFAULT: the factory's password, which has no times. */
    status: s.readOnly(s.enumeration(['DEFAULT', 'SECURE', 'NOPASSWD', 'MULTIPLE_ISSUES'])),
    hasHspInUse: s.readOnly(s.boolean()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    expiryTime: s.readOnly(s.timestamp()),
  },
  derived: true,
  rel: 'security:config:system-user-passwords',
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
})

export const ChangePasswordSpec = s.object('clustermgmt.v4.config.ChangePasswordSpec', {
  /** Required for PC and AOS; others are changed by their administrator. */
  currentPassword: s.secret(s.text({ maxLength: 255 })),
  newPassword: s.secret(s.text({ maxLength: 255 })),
})

const path = '/config/system-user-passwords'
const administrators = names('LocalAccountManager Admin, Platform Admin, Super Admin')

export const systemUserPasswordOperations = {
  listSystemUserPasswords: list(path, SystemUserPassword, {
    versions: ['v4.2'],
    roles: [...administrators, 'LocalAccountManager Viewer', 'Platform Viewer'],
    rateLimit: perSecond(5, 5, 10, 10),
    filter: names('clusterExtId, hasHspInUse, hostIp/value, status, systemType, username'),
    orderby: ['username'],
    select: 'any',
    expand: { cluster: { kind: 'Cluster', by: 'clusterExtId', into: 'clusterProjection' } },
    expandedType: 'clustermgmt.v4.config.SystemUserPasswordProjection',
  }),
  changeSystemUserPasswordById: action(`${path}/{extId}/$actions/change-password`, {
    of: SystemUserPassword,
    body: ChangePasswordSpec,
    versions: ['v4.2'],
    roles: administrators,
    rateLimit: perSecond(1),
  }),
}
