/** Users are set INACTIVE, never deleted. Source: catalogue iam.json; behaviour iam.md 1, 7, 10. */
import { names } from '../names.ts'
import { action, baseFields, create, type EntityOf, get, list, perSecond, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { KVPair } from '../shapes.ts'
import { userReaders, userWriters } from './roles.ts'

export const CreationType = s.enumeration(['PREDEFINED', 'USERDEFINED', 'SERVICEDEFINED'])
const UserStatusType = s.enumeration(['ACTIVE', 'INACTIVE'])

const nameRules = { maxLength: 255, pattern: '^[^<>;\'()&+%/\\\\"`]*$' } as const
/** Empty is allowed: a service account without a name is answered with '', and clients send back what they read. */
const personalName = s.text(nameRules)

const BucketsAccessKey = s.object('iam.v4.authn.BucketsAccessKey', {
  ...baseFields,
  accessKeyName: s.readOnly(s.text({ minLength: 1, ...nameRules })),
  // Only the answer to the creation of the key contains it.
  secretAccessKey: s.secret(s.text()),
  userId: s.readOnly(s.uuid()),
  assignedTo: s.readOnly(s.text({ minLength: 3, maxLength: 255 })),
  status: s.readOnly(s.enumeration(['VALID', 'REVOKED', 'EXPIRED'])),
  creationType: s.readOnly(CreationType),
  expiryTime: s.readOnly(s.timestamp()),
  createdBy: s.readOnly(s.uuid()),
  createdTime: s.readOnly(s.timestamp()),
  lastUpdatedBy: s.readOnly(s.uuid()),
  lastUpdatedTime: s.readOnly(s.timestamp()),
})

export const User = resource('iam.v4.authn.User', {
  fields: {
    userType: s.immutable(s.enumeration(['LOCAL', 'SAML', 'LDAP', 'EXTERNAL', 'SERVICE_ACCOUNT'])),
    username: s.immutable(s.text({ minLength: 1, ...nameRules })),
    /** Set by the server for LOCAL and SERVICE_ACCOUNT, required for LDAP and SAML. */
    idpId: s.immutable(s.optional(s.uuid())),
    displayName: s.optional(personalName),
    firstName: s.optional(personalName),
    middleInitial: s.optional(personalName),
    lastName: s.optional(personalName),
    emailId: s.optional(s.text({ maxLength: 255, pattern: '^(?:[a-zA-Z0-9_.-]+@[a-zA-Z0-9_.-]+\\.[a-zA-Z]{2,5})?$' })),
    locale: s.optional(s.text()),
    region: s.optional(s.text()),
    description: s.optional(s.text({ multiline: true })),
    defaultLandingPagePath: s.optional(s.text()),
    // The password policy checks length and characters, so that a refusal can name every broken rule.
    password: s.secret(s.text()),
    isForceResetPasswordEnabled: s.withDefault(s.boolean(), false),
    status: s.withDefault(UserStatusType, 'ACTIVE'),
    creationType: s.readOnly(CreationType),
    additionalAttributes: s.optional(s.arrayOf(KVPair, { maxItems: 10 })),
    bucketsAccessKeys: s.readOnly(s.arrayOf(BucketsAccessKey, { maxItems: 5 })),
    lastLoginTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedBy: s.readOnly(s.uuid()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  internal: {
    passwordHash: s.text(),
    /** The last five, newest first; none of them may be used again. */
    formerPasswordHashes: s.arrayOf(s.text(), { maxItems: 5 }),
    passwordChangedTime: s.timestamp(),
    isPasswordStrong: s.boolean(),
    /** Until `until` the password before the last change still reads the task that made the change. */
    previousPassword: s.object('internal.v1.iam.PreviousPassword', {
      hash: s.text(),
      taskExtId: s.uuid(),
      until: s.timestamp(),
    }),
    /** Internal service account: authenticated, never listed. */
    isInternal: s.boolean(),
  },
  indexed: ['isInternal'],
  iam: { owner_uuid: 'createdBy', displayName: 'displayName', name: 'username' },
  unique: [{ fields: ['idpId', 'username'], ignoreCase: true, error: 'USER_ALREADY_EXISTS' }],
  notFound: 'USER_NOT_FOUND',
  isInNewWorld: ({ creationType }) => creationType === 'PREDEFINED',
})
export type User = EntityOf<typeof User>

const accountKeepers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin', 'User Admin']

const view = { roles: userReaders, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

export const userOperations = {
  listUsers: list('/authn/users', User, {
    ...view,
    filter: names(`
      createdBy, displayName, emailId, extId, firstName, idpId, lastName, lastUpdatedBy, status, userType, username
    `),
    orderby: names(`
      createdBy, createdTime, displayName, emailId, extId, firstName, lastLoginTime, lastName, lastUpdatedTime,
      userType, username
    `),
    select: names(`
      additionalAttributes, bucketsAccessKeys, createdBy, createdTime, displayName, emailId, extId, firstName, idpId,
      isForceResetPasswordEnabled, lastLoginTime, lastName, lastUpdatedBy, lastUpdatedTime, links, locale,
      middleInitial, region, status, tenantId, userType, username
    `),
  }),
  createUser: create('/authn/users', User, { ...mutation, roles: [...userWriters, 'Project Admin'] }),
  getUserById: get('/authn/users/{extId}', User, { ...view, own: 'extId' }),
  updateUserById: update('/authn/users/{extId}', User, { ...mutation, roles: userWriters }),
  /** Forced resets permit only this operation; it changes only the user's own password. */
  changeUserPassword: action('/authn/users/$actions/change-password', {
    of: User,
    body: s.object('iam.v4.authn.PasswordChangeRequest', {
      username: s.text(),
      oldPassword: s.text({ secret: true }),
      newPassword: s.text({ secret: true }),
    }),
    answer: s.object('iam.v4.authn.PasswordChangeResponse', { message: s.text() }),
    roles: 'everyone',
    rateLimit: perSecond(1, 1, 2, 2),
    runs: 'sync',
  }),
  updateUserState: action('/authn/users/{extId}/$actions/change-state', {
    ...mutation,
    of: User,
    body: s.object('iam.v4.authn.UserStateUpdate', { status: UserStatusType }),
    answer: s.object('iam.v4.authn.UserStateUpdateResponse', { message: s.text() }),
    envelope: 'iam.v4.authn.ActivateUserApiResponse',
    roles: accountKeepers,
  }),
  resetUserPassword: action('/authn/users/{extId}/$actions/reset-password', {
    ...mutation,
    of: User,
    body: s.object('iam.v4.authn.PasswordResetRequest', { newPassword: s.text({ secret: true }) }),
    answer: s.object('iam.v4.authn.PasswordResetResponse', { message: s.text() }),
    roles: accountKeepers,
  }),
}
