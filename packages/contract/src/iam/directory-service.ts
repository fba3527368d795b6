/**
 * An LDAP server that signs users in: Active Directory or OpenLDAP.
 * Source: catalogue iam.json; behaviour iam.md 4, 10.
 */
import { action, create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  object,
  optional,
  readOnly,
  secret,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'

const url = text({ maxLength: 2048 })
const distinguishedName = text({ minLength: 1, maxLength: 1024 })
/**
 * `cn`, `sAMAccountName`; options (`;binary`) and numeric OIDs are refused, so that each attribute has one spelling.
 */
const attributeName = text({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9-]*$' })

const UserConfiguration = object('iam.v4.authn.UserConfiguration', {
  userObjectClass: attributeName,
  userSearchBase: distinguishedName,
  usernameAttribute: attributeName,
})

const UserGroupConfiguration = object('iam.v4.authn.UserGroupConfiguration', {
  groupMemberAttribute: attributeName,
  /** User attribute that groups list as a member: `dn`, or for example `uid`. */
  groupMemberAttributeValue: attributeName,
  groupObjectClass: attributeName,
  groupSearchBase: distinguishedName,
})

const DsServiceAccount = object('iam.v4.authn.DsServiceAccount', {
  username: text({ minLength: 1, maxLength: 1024 }),
  /** Required on create; an update without it keeps the stored value. */
  password: secret(text({ minLength: 1, maxLength: 1024, maskedInPublic: true })),
})

export const DirectoryService = resource(
  'iam.v4.authn.DirectoryService',
  {
    name: text({ minLength: 1, maxLength: 255 }),
    url,
    /** Tried in this order when `url` does not answer. */
    secondaryUrls: optional(arrayOf(url, { maxItems: 8 })),
    domainName: immutable(
      text({ maxLength: 255, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*$' }),
    ),
    directoryType: immutable(enumeration(['ACTIVE_DIRECTORY', 'OPEN_LDAP'])),
    groupSearchType: withDefault(enumeration(['NON_RECURSIVE', 'RECURSIVE']), 'NON_RECURSIVE'),
    openLdapConfiguration: optional(
      object('iam.v4.authn.OpenLdapConfig', {
        userConfiguration: UserConfiguration,
        userGroupConfiguration: UserGroupConfiguration,
      }),
    ),
    /** Required on create; an update without it keeps the stored value. */
    serviceAccount: optional(DsServiceAccount),
    /** Distinguished names, or common names of groups. Empty or absent: every user of the directory may sign in. */
    whiteListedGroups: optional(arrayOf(text({ minLength: 1, maxLength: 1024, isName: true }), { maxItems: 100 })),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    title: 'directory service',
    iam: { name: 'directory_service', attributes: { owner_uuid: 'createdBy', name: 'name' } },
    unique: [
      { fields: ['name'], ignoreCase: true, error: 'DIRECTORY_SERVICE_ALREADY_EXISTS' },
      { fields: ['domainName'], ignoreCase: true, error: 'DIRECTORY_DOMAIN_ALREADY_EXISTS' },
    ],
    notFound: 'DIRECTORY_SERVICE_NOT_FOUND',
  },
)

const searchers: readonly RoleName[] = [
  'Central Admin',
  'Network Policy Admin',
  'Platform Admin',
  'Project Admin',
  'Project Manager',
  'Self-Service Admin (deprecated)',
  'Super Admin',
]
const readers: readonly RoleName[] = [...searchers, 'Network Policy Viewer', 'Platform Viewer']
const writers: readonly RoleName[] = ['Central Admin', 'Super Admin']

export const directoryServiceOperations = {
  listDirectoryServices: list('/authn/directory-services', DirectoryService, {
    iam: 'View_Directory_Service',
    roles: readers,
    rateLimit: perSecond(5, 5, 10, 10),
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
  createDirectoryService: create('/authn/directory-services', DirectoryService, {
    iam: 'Create_Directory_Service',
    roles: writers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
  getDirectoryServiceById: get('/authn/directory-services/{extId}', DirectoryService, {
    iam: 'View_Directory_Service',
    roles: readers,
    rateLimit: perSecond(5, 5, 10, 10),
  }),
  updateDirectoryServiceById: update('/authn/directory-services/{extId}', DirectoryService, {
    iam: 'Update_Directory_Service',
    roles: writers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
    ifMatch: 'required',
  }),
  deleteDirectoryServiceById: remove('/authn/directory-services/{extId}', DirectoryService, {
    iam: 'Delete_Directory_Service',
    roles: writers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
    ifMatch: 'required',
  }),
  searchDirectoryService: action('/authn/directory-services/{extId}/$actions/search', {
    of: DirectoryService,
    body: object('iam.v4.authn.DirectoryServiceSearchQuery', {
      query: text({ minLength: 1, maxLength: 256 }),
      isWildcardSearch: withDefault(boolean(), false),
      searchedAttributes: optional(arrayOf(attributeName, { minItems: 1, maxItems: 10 })),
      returnedAttributes: optional(arrayOf(attributeName, { minItems: 1, maxItems: 20 })),
    }),
    answer: object('iam.v4.authn.DirectoryServiceSearchResult', {
      domainName: text(),
      searchResults: arrayOf(
        object('iam.v4.authn.DirectoryServiceSearchEntity', {
          entityType: text(),
          /** Distinguished name. */
          name: text(),
          attributes: arrayOf(
            object('iam.v4.authn.DirectoryServiceSearchAttribute', { name: text(), values: arrayOf(text()) }),
          ),
        }),
      ),
    }),
    iam: 'Search_Directory_Service',
    roles: searchers,
    rateLimit: perSecond(5, 5, 10, 10),
    mutates: false,
    status: 200,
  }),
  connectionStatusDirectoryService: action('/authn/directory-services/{extId}/$actions/verify-connection-status', {
    of: DirectoryService,
    body: object('iam.v4.authn.DirectoryServiceConnectionRequest', {
      username: text({ minLength: 1, maxLength: 1024 }),
      password: text({ secret: true, minLength: 1, maxLength: 1024 }),
    }),
    answer: object('iam.v4.authn.DirectoryServiceConnectionResponse', { message: text() }),
    envelope: 'iam.v4.authn.ConnectionDirectoryServiceApiResponse',
    iam: 'Verify_Connection_Status_Directory_Service',
    roles: ['Central Admin', 'Platform Admin', 'Super Admin'],
    rateLimit: perSecond(5),
    mutates: false,
    status: 200,
  }),
}
