/** Keys cannot be changed, only revoked. Source: catalogue iam.json; behaviour iam.md 2, 10. */
import { appMessageOf } from '../envelope.ts'
import { names } from '../names.ts'
import { action, create, type EntityOf, get, list, perSecond, remove, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { CreationType } from './user.ts'

/** Lets secret scanners find leaked keys in logs and repositories. */
export const apiKeyPrefix = 'hpk_'

const ApiKeyDetails = s.object('iam.v4.authn.ApiKeyDetails', { apiKey: s.oneTimeSecret(s.text()) })
const ObjectKeyDetails = s.object('iam.v4.authn.ObjectKeyDetails', {
  accessKey: s.readOnly(s.text()),
  secretKey: s.oneTimeSecret(s.text()),
})

export const Key = resource('iam.v4.authn.Key', {
  fields: {
    name: s.immutable(s.text({ minLength: 1, maxLength: 255 })),
    keyType: s.immutable(s.enumeration(['API_KEY', 'OBJECT_KEY'])),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    assignedTo: s.optional(s.text({ minLength: 3, maxLength: 255 })),
    expiryTime: s.optional(s.timestamp()),
    /** Answers show EXPIRED from `expiryTime` on; the stored value stays VALID. */
    status: s.withDefault(s.enumeration(['VALID', 'REVOKED', 'EXPIRED']), 'VALID'),
    creationType: s.readOnly(CreationType),
    keyDetails: s.readOnly(s.oneOf(ApiKeyDetails, ObjectKeyDetails)),
    lastUsedTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedBy: s.readOnly(s.uuid()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iamNoun: 'User_Key',
  internal: {
    userExtId: s.uuid(),
    apiKeyDigest: s.optional(s.text()),
    /** Signatures need the key itself, so it is sealed rather than digested. */
    objectSecretKey: s.secret(s.text()),
  },
  indexed: ['apiKeyDigest', 'userExtId'],
  parent: { param: 'userExtId', kind: 'User', field: 'userExtId' },
  iam: { owner_uuid: 'userExtId', name: 'name' },
  unique: [{ fields: ['userExtId', 'name'], error: 'KEY_ALREADY_EXISTS' }],
  notFound: 'USER_NOT_FOUND',
})
export type Key = EntityOf<typeof Key>

const writers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin', 'User Admin']
const readers: readonly RoleName[] = [...writers, 'Platform Viewer']

/** Without a severity: public clients cannot read one in this answer. */
const { severity: _, ...revokedKeyFields } = appMessageOf('iam').fields
const RevokedKeyMessage = s.object(appMessageOf('iam').objectType as string, revokedKeyFields)

const view = { roles: readers, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { roles: writers, rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

export const keyOperations = {
  listUserKeys: list('/authn/users/{userExtId}/keys', Key, {
    ...view,
    own: 'userExtId',
    filter: ['assignedTo', 'creationType', 'extId', 'keyType', 'lastUpdatedBy', 'name', 'status', 'tenantId'],
    orderby: names(`
      assignedTo, createdBy, createdTime, expiryTime, keyType, lastUpdatedTime, lastUsedTime, name, status, tenantId
    `),
    select: names(`
      assignedTo, createdBy, createdTime, creationType, description, expiryTime, extId, keyType, lastUpdatedBy,
      lastUpdatedTime, lastUsedTime, name, status, tenantId
    `),
  }),
  createUserKey: create('/authn/users/{userExtId}/keys', Key, {
    ...mutation,
    envelope: 'iam.v4.authn.CreateKeyApiResponse',
  }),
  getUserKeyById: get('/authn/users/{userExtId}/keys/{extId}', Key, { ...view, own: 'userExtId' }),
  deleteUserKeyById: remove('/authn/users/{userExtId}/keys/{extId}', Key, { ...mutation, ifMatch: 'required' }),
  revokeUserKey: action('/authn/users/{userExtId}/keys/{extId}/$actions/revoke', {
    ...mutation,
    of: Key,
    answer: RevokedKeyMessage,
    own: 'userExtId',
  }),
}
