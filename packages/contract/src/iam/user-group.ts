/** A group of a provider; members are not stored. Source: catalogue iam.json; behaviour iam.md 3, 10. */
import { names } from '../names.ts'
import { create, get, list, perSecond, remove, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { userReaders, userWriters } from './roles.ts'

export const UserGroup = resource('iam.v4.authn.UserGroup', {
  fields: {
    groupType: s.enumeration(['SAML', 'LDAP']),
    idpId: s.uuid(),
    /** Required for SAML; default for an LDAP group: the value of its first RDN. */
    name: s.optional(s.text({ minLength: 1, maxLength: 255 })),
    /** LDAP groups only, as it was sent. */
    distinguishedName: s.optional(s.text({ minLength: 1, maxLength: 1024 })),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  internal: {
    /** The normalised distinguished name, or the name. */
    identity: s.text(),
  },
  indexed: ['identity'],
  iam: { owner_uuid: 'createdBy', name: 'name' },
  unique: [{ fields: ['idpId', 'identity'], error: 'USER_GROUP_ALREADY_EXISTS' }],
  notFound: 'USER_GROUP_NOT_FOUND',
})

const view = { roles: userReaders, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

export const userGroupOperations = {
  listUserGroups: list('/authn/user-groups', UserGroup, {
    ...view,
    filter: ['createdBy', 'distinguishedName', 'extId', 'groupType', 'idpId', 'name'],
    orderby: ['createdTime', 'distinguishedName', 'groupType', 'lastUpdatedTime', 'name'],
    select: names(`
      createdBy, createdTime, distinguishedName, extId, groupType, idpId, lastUpdatedTime, links, name, tenantId
    `),
  }),
  createUserGroup: create('/authn/user-groups', UserGroup, { ...mutation, roles: [...userWriters, 'Project Admin'] }),
  getUserGroupById: get('/authn/user-groups/{extId}', UserGroup, view),
  deleteUserGroupById: remove('/authn/user-groups/{extId}', UserGroup, {
    ...mutation,
    roles: userWriters,
    ifMatch: 'required',
  }),
}
