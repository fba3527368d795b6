/**
 * A credential of one user: an API key, or an access and secret key of the object store. It cannot be changed, only
 * revoked.
 * Source: catalogue iam.json; behaviour iam.md 2, 10.
 */
import { appMessageOf } from '../envelope.ts'
import { action, create, get, list, perSecond, remove, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  enumeration,
  immutable,
  object,
  oneOf,
  oneTimeSecret,
  optional,
  readOnly,
  secret,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'
import { CreationType } from './user.ts'

/** Prefix of API keys, by which secret scanners find leaked keys in logs and repositories. */
export const apiKeyPrefix = 'hpk_'

const ApiKeyDetails = object('iam.v4.authn.ApiKeyDetails', { apiKey: oneTimeSecret(text()) })
const ObjectKeyDetails = object('iam.v4.authn.ObjectKeyDetails', {
  accessKey: readOnly(text()),
  secretKey: oneTimeSecret(text()),
})

export const Key = resource(
  'iam.v4.authn.Key',
  {
    name: immutable(text({ minLength: 1, maxLength: 255 })),
    keyType: immutable(enumeration(['API_KEY', 'OBJECT_KEY'])),
    description: optional(text({ maxLength: 1000, multiline: true })),
    assignedTo: optional(text({ minLength: 3, maxLength: 255 })),
    expiryTime: optional(timestamp()),
    /** Answers show EXPIRED from `expiryTime` on; the stored value stays VALID. */
    status: withDefault(enumeration(['VALID', 'REVOKED', 'EXPIRED']), 'VALID'),
    creationType: readOnly(CreationType),
    keyDetails: readOnly(oneOf(ApiKeyDetails, ObjectKeyDetails)),
    lastUsedTime: readOnly(timestamp()),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedBy: readOnly(uuid()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    internal: {
      userExtId: uuid(),
      /** SHA-256 of an API key, in hexadecimal digits. */
      apiKeyDigest: optional(text()),
      /** Signatures need the key itself, so it is sealed rather than digested. */
      objectSecretKey: secret(text()),
    },
    indexed: ['apiKeyDigest', 'userExtId'],
    parent: { param: 'userExtId', kind: 'User', field: 'userExtId' },
    iam: { name: 'user_key', attributes: { owner_uuid: 'userExtId', name: 'name' } },
    unique: [{ fields: ['userExtId', 'name'], error: 'KEY_ALREADY_EXISTS' }],
    notFound: 'USER_NOT_FOUND',
  },
)

const writers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin', 'User Admin']
const readers: readonly RoleName[] = [...writers, 'Platform Viewer']

/** Without a severity: public clients cannot read one in this answer. */
const { severity: _, ...revokedKeyFields } = appMessageOf('iam').fields
const RevokedKeyMessage = object(appMessageOf('iam').objectType as string, revokedKeyFields)

export const keyOperations = {
  listUserKeys: list('/authn/users/{userExtId}/keys', Key, {
    iam: 'View_User_Key',
    roles: readers,
    own: 'userExtId',
    rateLimit: perSecond(10, 10, 15, 20),
    filter: ['assignedTo', 'creationType', 'extId', 'keyType', 'lastUpdatedBy', 'name', 'status', 'tenantId'],
    orderby: [
      'assignedTo',
      'createdBy',
      'createdTime',
      'expiryTime',
      'keyType',
      'lastUpdatedTime',
      'lastUsedTime',
      'name',
      'status',
      'tenantId',
    ],
    select: [
      'assignedTo',
      'createdBy',
      'createdTime',
      'creationType',
      'description',
      'expiryTime',
      'extId',
      'keyType',
      'lastUpdatedBy',
      'lastUpdatedTime',
      'lastUsedTime',
      'name',
      'status',
      'tenantId',
    ],
  }),
  createUserKey: create('/authn/users/{userExtId}/keys', Key, {
    envelope: 'iam.v4.authn.CreateKeyApiResponse',
    iam: 'Create_User_Key',
    roles: writers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
  getUserKeyById: get('/authn/users/{userExtId}/keys/{extId}', Key, {
    iam: 'View_User_Key',
    roles: readers,
    own: 'userExtId',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
  deleteUserKeyById: remove('/authn/users/{userExtId}/keys/{extId}', Key, {
    iam: 'Delete_User_Key',
    roles: writers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
    ifMatch: 'required',
  }),
  revokeUserKey: action('/authn/users/{userExtId}/keys/{extId}/$actions/revoke', {
    of: Key,
    answer: RevokedKeyMessage,
    iam: 'Revoke_User_Key',
    roles: writers,
    own: 'userExtId',
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
}
