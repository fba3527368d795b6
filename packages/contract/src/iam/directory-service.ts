/** Active Directory or OpenLDAP. Source: catalogue iam.json; behaviour iam.md 4, 10. */
import { names } from '../names.ts'
import { action, create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

const url = s.text({ maxLength: 2048 })
const distinguishedName = s.text({ minLength: 1, maxLength: 1024 })
/** Options (`;binary`) and numeric OIDs are refused, so that each attribute has one spelling. */
const attributeName = s.text({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9-]*$' })

const UserConfiguration = s.object('iam.v4.authn.UserConfiguration', {
  userObjectClass: attributeName,
  userSearchBase: distinguishedName,
  usernameAttribute: attributeName,
})

const UserGroupConfiguration = s.object('iam.v4.authn.UserGroupConfiguration', {
  groupMemberAttribute: attributeName,
  /** User attribute that groups list as a member: `dn`, or for example `uid`. */
  groupMemberAttributeValue: attributeName,
  groupObjectClass: attributeName,
  groupSearchBase: distinguishedName,
})

const DsServiceAccount = s.object('iam.v4.authn.DsServiceAccount', {
  username: s.text({ minLength: 1, maxLength: 1024 }),
  /** Required on create; an update without it keeps the stored value. */
  password: s.secret(s.text({ minLength: 1, maxLength: 1024, maskedInPublic: true })),
})

export const DirectoryService = resource('iam.v4.authn.DirectoryService', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 255 }),
    url,
    /** Tried in this order when `url` does not answer. */
    secondaryUrls: s.optional(s.arrayOf(url, { maxItems: 8 })),
    domainName: s.immutable(
      s.text({ maxLength: 255, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*$' }),
    ),
    directoryType: s.immutable(s.enumeration(['ACTIVE_DIRECTORY', 'OPEN_LDAP'])),
    groupSearchType: s.withDefault(s.enumeration(['NON_RECURSIVE', 'RECURSIVE']), 'NON_RECURSIVE'),
    openLdapConfiguration: s.optionalObject('iam.v4.authn.OpenLdapConfig', {
      userConfiguration: UserConfiguration,
      userGroupConfiguration: UserGroupConfiguration,
    }),
    /** Required on create; an update without it keeps the stored value. */
    serviceAccount: s.optional(DsServiceAccount),
    /** Distinguished names, or common names of groups. Empty or absent: every user of the directory may sign in. */
    whiteListedGroups: s.optional(
      s.arrayOf(s.text({ minLength: 1, maxLength: 1024, isName: true }), { maxItems: 100 }),
    ),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: { owner_uuid: 'createdBy', name: 'name' },
  unique: [
    { fields: ['name'], ignoreCase: true, error: 'DIRECTORY_SERVICE_ALREADY_EXISTS' },
    { fields: ['domainName'], ignoreCase: true, error: 'DIRECTORY_DOMAIN_ALREADY_EXISTS' },
  ],
  notFound: 'DIRECTORY_SERVICE_NOT_FOUND',
})

const searchers: readonly RoleName[] = names(`
  Central Admin, Network Policy Admin, Platform Admin, Project Admin, Project Manager, Self-Service Admin (deprecated),
  Super Admin
`)
const readers: readonly RoleName[] = [...searchers, 'Network Policy Viewer', 'Platform Viewer']
const writers: readonly RoleName[] = ['Central Admin', 'Super Admin']

const view = { roles: readers, rateLimit: perSecond(5, 5, 10, 10) }
const mutation = { roles: writers, rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

const path = '/authn/directory-services'
const one = `${path}/{extId}` as const

export const directoryServiceOperations = {
  listDirectoryServices: list(path, DirectoryService, {
    ...view,
    filter: ['createdBy', 'domainName', 'extId', 'name'],
    orderby: ['createdTime', 'domainName', 'lastUpdatedTime', 'name'],
    select: [
      'createdBy',
      'createdTime',
      'directoryType',
      'domainName',
      'extId',
      'groupSearchType',
      'lastUpdatedTime',
      'links',
      'name',
      'openLdapConfiguration/userConfiguration',
      'openLdapConfiguration/userGroupConfiguration',
      'secondaryUrls',
      // Without `serviceAccount/password`, which the catalogue lists: no answer contains it.
      'serviceAccount/username',
      'tenantId',
      'url',
      'whiteListedGroups',
    ],
  }),
  createDirectoryService: create(path, DirectoryService, mutation),
  getDirectoryServiceById: get(one, DirectoryService, view),
  updateDirectoryServiceById: update(one, DirectoryService, mutation),
  deleteDirectoryServiceById: remove(one, DirectoryService, { ...mutation, ifMatch: 'required' }),
  searchDirectoryService: action(`${one}/$actions/search`, {
    of: DirectoryService,
    body: s.object('iam.v4.authn.DirectoryServiceSearchQuery', {
      query: s.text({ minLength: 1, maxLength: 256 }),
      isWildcardSearch: s.withDefault(s.boolean(), false),
      searchedAttributes: s.optional(s.arrayOf(attributeName, { minItems: 1, maxItems: 10 })),
      returnedAttributes: s.optional(s.arrayOf(attributeName, { minItems: 1, maxItems: 20 })),
    }),
    answer: s.object('iam.v4.authn.DirectoryServiceSearchResult', {
      domainName: s.text(),
      searchResults: s.arrayOf(
        s.object('iam.v4.authn.DirectoryServiceSearchEntity', {
          entityType: s.text(),
          name: s.text(),
          attributes: s.arrayOf(
            s.object('iam.v4.authn.DirectoryServiceSearchAttribute', { name: s.text(), values: s.arrayOf(s.text()) }),
          ),
        }),
      ),
    }),
    roles: searchers,
    rateLimit: perSecond(5, 5, 10, 10),
    mutates: false,
  }),
  connectionStatusDirectoryService: action(`${one}/$actions/verify-connection-status`, {
    of: DirectoryService,
    body: s.object('iam.v4.authn.DirectoryServiceConnectionRequest', {
      username: s.text({ minLength: 1, maxLength: 1024 }),
      password: s.text({ secret: true, minLength: 1, maxLength: 1024 }),
    }),
    answer: s.object('iam.v4.authn.DirectoryServiceConnectionResponse', { message: s.text() }),
    envelope: 'iam.v4.authn.ConnectionDirectoryServiceApiResponse',
    roles: ['Central Admin', 'Platform Admin', 'Super Admin'],
    rateLimit: perSecond(5),
    mutates: false,
  }),
}
