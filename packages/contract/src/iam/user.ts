/**
 * A person or service that can be authenticated. Users are not deleted but set INACTIVE.
 * Source: catalogue iam.json; behaviour iam.md 1, 7, 10.
 */
import { action, baseFields, create, get, list, perSecond, resource, update } from '../operation.ts'
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
import { KVPair } from '../shapes.ts'
import { userReaders, userWriters } from './roles.ts'

export const CreationType = enumeration(['PREDEFINED', 'USERDEFINED', 'SERVICEDEFINED'])
const UserStatusType = enumeration(['ACTIVE', 'INACTIVE'])

const nameRules = { maxLength: 255, pattern: '^[^<>;\'()&+%/\\\\"`]*$' } as const
/** Empty is allowed: a service account without a name is answered with '', and clients send back what they read. */
const personalName = text(nameRules)

/** View of a user's object keys. */
const BucketsAccessKey = object('iam.v4.authn.BucketsAccessKey', {
  ...baseFields,
  accessKeyName: readOnly(text({ minLength: 1, ...nameRules })),
  // Never present here: only the answer to the creation of the key contains it.
  secretAccessKey: secret(text()),
  userId: readOnly(uuid()),
  assignedTo: readOnly(text({ minLength: 3, maxLength: 255 })),
  status: readOnly(enumeration(['VALID', 'REVOKED', 'EXPIRED'])),
  creationType: readOnly(CreationType),
  expiryTime: readOnly(timestamp()),
  createdBy: readOnly(uuid()),
  createdTime: readOnly(timestamp()),
  lastUpdatedBy: readOnly(uuid()),
  lastUpdatedTime: readOnly(timestamp()),
})

export const User = resource(
  'iam.v4.authn.User',
  {
    userType: immutable(enumeration(['LOCAL', 'SAML', 'LDAP', 'EXTERNAL', 'SERVICE_ACCOUNT'])),
    username: immutable(text({ minLength: 1, ...nameRules })),
    /**
     * Provider that authenticates the user; set by the server for LOCAL and SERVICE_ACCOUNT, required for LDAP and
     * SAML.
     */
    idpId: immutable(optional(uuid())),
    displayName: optional(personalName),
    firstName: optional(personalName),
    middleInitial: optional(personalName),
    lastName: optional(personalName),
    emailId: optional(text({ maxLength: 255, pattern: '^(?:[a-zA-Z0-9_.-]+@[a-zA-Z0-9_.-]+\\.[a-zA-Z]{2,5})?$' })),
    locale: optional(text()),
    region: optional(text()),
    description: optional(text({ multiline: true })),
    defaultLandingPagePath: optional(text()),
    // The password policy checks length and characters, so that a refusal can name every broken rule.
    password: secret(text()),
    isForceResetPasswordEnabled: withDefault(boolean(), false),
    status: withDefault(UserStatusType, 'ACTIVE'),
    creationType: readOnly(CreationType),
    additionalAttributes: optional(arrayOf(KVPair, { maxItems: 10 })),
    bucketsAccessKeys: readOnly(arrayOf(BucketsAccessKey, { maxItems: 5 })),
    lastLoginTime: readOnly(timestamp()),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedBy: readOnly(uuid()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    internal: {
      passwordHash: text(),
      /** The last five, newest first; none of them may be used again. */
      formerPasswordHashes: arrayOf(text(), { maxItems: 5 }),
      /** Internal service account: authenticated, never listed. */
      isInternal: boolean(),
    },
    indexed: ['isInternal'],
    iam: { name: 'user', attributes: { owner_uuid: 'createdBy', displayName: 'displayName', name: 'username' } },
    unique: [{ fields: ['idpId', 'username'], ignoreCase: true, error: 'USER_ALREADY_EXISTS' }],
    notFound: 'USER_NOT_FOUND',
  },
)

const accountKeepers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin', 'User Admin']

export const userOperations = {
  listUsers: list('/authn/users', User, {
    iam: 'View_User',
    roles: userReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter: [
      'createdBy',
      'displayName',
      'emailId',
      'extId',
      'firstName',
      'idpId',
      'lastName',
      'lastUpdatedBy',
      'status',
      'userType',
      'username',
    ],
    orderby: [
      'createdBy',
      'createdTime',
      'displayName',
      'emailId',
      'extId',
      'firstName',
      'lastLoginTime',
      'lastName',
      'lastUpdatedTime',
      'userType',
      'username',
    ],
    select: [
      'additionalAttributes',
      'bucketsAccessKeys',
      'createdBy',
      'createdTime',
      'displayName',
      'emailId',
      'extId',
      'firstName',
      'idpId',
      'isForceResetPasswordEnabled',
      'lastLoginTime',
      'lastName',
      'lastUpdatedBy',
      'lastUpdatedTime',
      'links',
      'locale',
      'middleInitial',
      'region',
      'status',
      'tenantId',
      'userType',
      'username',
    ],
  }),
  createUser: create('/authn/users', User, {
    iam: 'Create_User',
    roles: [...userWriters, 'Project Admin'],
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
  getUserById: get('/authn/users/{extId}', User, {
    iam: 'View_User',
    roles: userReaders,
    own: 'extId',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
  updateUserById: update('/authn/users/{extId}', User, {
    iam: 'Update_User',
    roles: userWriters,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
    ifMatch: 'required',
  }),
  /** Only for the user's own password; the only operation that a user with a forced reset may call. */
  changeUserPassword: action('/authn/users/$actions/change-password', {
    of: User,
    body: object('iam.v4.authn.PasswordChangeRequest', {
      username: text(),
      oldPassword: text({ secret: true }),
      newPassword: text({ secret: true }),
    }),
    answer: object('iam.v4.authn.PasswordChangeResponse', { message: text() }),
    iam: 'Change_Password_User',
    roles: 'everyone',
    rateLimit: perSecond(1, 1, 2, 2),
    runs: 'sync',
  }),
  updateUserState: action('/authn/users/{extId}/$actions/change-state', {
    of: User,
    body: object('iam.v4.authn.UserStateUpdate', { status: UserStatusType }),
    answer: object('iam.v4.authn.UserStateUpdateResponse', { message: text() }),
    envelope: 'iam.v4.authn.ActivateUserApiResponse',
    iam: 'Change_State_User',
    roles: accountKeepers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
  resetUserPassword: action('/authn/users/{extId}/$actions/reset-password', {
    of: User,
    body: object('iam.v4.authn.PasswordResetRequest', { newPassword: text({ secret: true }) }),
    answer: object('iam.v4.authn.PasswordResetResponse', { message: text() }),
    iam: 'Reset_Password_User',
    roles: accountKeepers,
    rateLimit: perSecond(5, 5, 10, 10),
    runs: 'sync',
  }),
}
