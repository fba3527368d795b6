import {
  anything,
  arrayOf,
  boolean,
  enumeration,
  integer,
  mapOf,
  object,
  oneOf,
  optional,
  text,
} from '@hyperplane/contract'
import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { WelcomeBanner as StoredBanner } from '@hyperplane/contract/iam/welcome-banner'
import { written } from '../readable.ts'
import { about, description, largestGroup, name, named, names } from './words.ts'

const Key = object('', {
  ...named(255),
  description: description(),
  status: optional(about('Default: VALID.', enumeration(['REVOKED', 'VALID']))),
  assignedTo: optional(name()),
})

export const User = object('', {
  ...named(64),
  userType: optional(
    about(
      'Default: LOCAL, who signs in with the password of admin; with an idp: by what that is.',
      enumeration(['LOCAL', 'SERVICE_ACCOUNT', 'LDAP', 'SAML']),
    ),
  ),
  idp: optional(about('Name of the directory or SAML provider that knows them.', name())),
  displayName: optional(text({ maxLength: 255 })),
  emailId: optional(text({ maxLength: 255 })),
  description: description(),
  status: optional(enumeration(['ACTIVE', 'INACTIVE'])),
  roles: optional(about('Names of roles that it has, on everything.', names(32))),
  keys: optional(
    about(
      'API keys that are listed and open nothing: their secrets are unknown.',
      arrayOf(oneOf(name(), Key), { maxItems: 25 }),
    ),
  ),
})

export const UserGroup = object('', {
  ...named(255),
  idp: about('Name of the directory or SAML provider that has it.', name()),
  distinguishedName: optional(about('Of a group of a directory.', name(1024))),
  roles: optional(about('Names of roles that who belongs to it has, on everything.', names(32))),
})

export const Role = object('', {
  ...named(255),
  description: description(),
  operations: about('Names, such as View_Virtual_Machine.', names(1000)),
})

export const Policy = object('', {
  ...named(255),
  description: description(),
  role: name(),
  users: optional(names()),
  userGroups: optional(names()),
  entities: optional(
    about(
      'Filters as the interface has them, with names for ids: { virtual_machine: { category_uuid: { anyof: [Environment/Dev] } } }. Default: everything.',
      arrayOf(mapOf(anything()), { minItems: 1, maxItems: 100 }),
    ),
  ),
})

const Person = object('', {
  name: name(64),
  count: optional(integer({ minimum: 1, maximum: largestGroup })),
  displayName: optional(name()),
  emailId: optional(name()),
  isDisabled: optional(boolean()),
})

const DirectoryGroup = object('', {
  name: name(),
  members: optional(about('Names of its people and groups.', names(10_000))),
})

export const Directory = object('', {
  ...named(255),
  url: optional(
    about(
      'Of a simulated directory: ldap://HOST.simulated:389. Default: its name for HOST.',
      text({ minLength: 8, maxLength: 2048 }),
    ),
  ),
  ...written(
    DirectoryService.schema.fields,
    'directoryType',
    'domainName',
    'groupSearchType',
    'openLdapConfiguration',
    'whiteListedGroups',
  ),
  people: optional(
    about('They sign in with the password of admin.', arrayOf(oneOf(name(64), Person), { maxItems: 10_000 })),
  ),
  groups: optional(arrayOf(DirectoryGroup, { maxItems: 1000 })),
  isEverybodyKnown: optional(
    about('Whether well-formed names that are not listed are users as well. Default: true.', boolean()),
  ),
})

export const Saml = object('', {
  ...named(255),
  ...written(
    SamlIdentityProvider.schema.fields,
    'customAttributes',
    'emailAttribute',
    'entityIssuer',
    'groupsAttribute',
    'groupsDelim',
    'idpMetadata',
    'idpMetadataXml',
    'isSignedAuthnReqEnabled',
    'redirectURL',
    'usernameAttribute',
  ),
})

export const CertAuth = object('', {
  ...named(255),
  ...written(
    CertAuthProvider.schema.fields,
    'certRevocationInfo',
    'clientCaChain',
    'isCacEnabled',
    'isCertAuthEnabled',
  ),
  caCertFileName: optional(about('Default: its name with .pem.', name())),
  directory: optional(about('That knows whom the certificates name.', name())),
})

export const Banner = object('', written(StoredBanner.schema.fields, 'content', 'isEnabled'))
