import { errorTable } from '../error-table.ts'

/** Source: behaviour iam.md 0; clients search for the words of its quoted messages. */
export const iamErrors = errorTable({
  AUTHORIZATION_ENTITY_NOT_FOUND: {
    'IAM-20001 404 ENTITY_NOT_FOUND': 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
  AUTHORIZATION_FILTER_INVALID: { 'IAM-20033 400': '{attributePath}, position {position}: {fault}' },
  AUTHORIZATION_POLICY_ALREADY_EXISTS: {
    'IAM-20030 409 ENTITY_ALREADY_EXISTS':
      'Failed to create authorization policy as already exists: choose another display name.',
  },
  DIRECTORY_CONNECTION_FAILED: { 'IAM-20021 400': 'The directory at {url} cannot be used: {cause}.' },
  DIRECTORY_DOMAIN_ALREADY_EXISTS: {
    'IAM-20013 409 ENTITY_ALREADY_EXISTS':
      'Failed to create directory service as a directory service for the same domain already exists',
  },
  DIRECTORY_SERVICE_ALREADY_EXISTS: {
    'IAM-20013 409 ENTITY_ALREADY_EXISTS':
      'Failed to create directory service as directory service with name {name} already exists',
  },
  DIRECTORY_SERVICE_NOT_FOUND: { 'IAM-20004 404 ENTITY_NOT_FOUND': 'Directory service not found: {id} ({attribute}).' },
  IDENTITY_PROVIDER_ALREADY_EXISTS: {
    'IAM-20014 409 ENTITY_ALREADY_EXISTS': 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  IDENTITY_PROVIDER_NOT_FOUND: {
    'IAM-20005 404 ENTITY_NOT_FOUND': 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
  KEY_ALREADY_EXISTS: {
    'IAM-20011 409 ENTITY_ALREADY_EXISTS': 'Failed to create key as there is a key with the same name.',
  },
  LAST_SUPER_ADMIN: { 'IAM-20018 409': 'This would leave no active identity with the role Super Admin on everything.' },
  OLD_PASSWORD_MISMATCH: { 'IAM-20017 403': 'The old password does not match.' },
  OPERATION_NOT_GRANTABLE: {
    'IAM-20034 400': '{attributePath}: the operation {id} is unknown, or no role may hold it.',
  },
  OWN_ACCOUNT: { 'IAM-20018 409': 'A user cannot deactivate the account that sends the request.' },
  PASSWORD_CHANGE_REQUIRED: {
    'IAM-20015 403': 'The password must be changed first: only changeUserPassword is open until then.',
  },
  PASSWORD_POLICY_VIOLATED: { 'IAM-20016 400': 'The new password is refused: {rule}.' },
  ROLE_ALREADY_EXISTS: {
    'IAM-20030 409 ENTITY_ALREADY_EXISTS': 'Failed to create role as already exists: choose another display name.',
  },
  ROLE_IN_USE: {
    'IAM-20032 409 ENTITY_IN_USE': 'The role "{name}" is in use by {count} authorization policies. Change those first.',
  },
  SYSTEM_DEFINED_ENTITY: {
    'IAM-20031 403': 'The {kind} "{name}" is system-defined; it cannot be modified or deleted.',
  },
  TRUST_MATERIAL_INVALID: { 'IAM-20022 400': '{attributePath}: {fault}' },
  USER_ALREADY_EXISTS: {
    'IAM-20010 409 ENTITY_ALREADY_EXISTS': 'Failed to create user as a user already exists with given username.',
  },
  USER_GROUP_ALREADY_EXISTS: {
    'IAM-20012 409 ENTITY_ALREADY_EXISTS':
      'Failed to create the user group as an user group already exists with same DN',
  },
  USER_GROUP_NOT_FOUND: {
    'IAM-20003 404 ENTITY_NOT_FOUND':
      'The requested {kind} {id} ({attribute}) is not there: the requested user group does not exist.',
  },
  USER_NOT_FOUND: { 'IAM-20002 404 ENTITY_NOT_FOUND': 'There is no {kind} {id} ({attribute}), or it is not visible.' },
})

export const iamMessages = {
  AUTHORIZATION_POLICY_UPDATE_SUCCESS: { code: 'IAM-20035', message: 'The authorization policy was updated.' },
  REVOKE_USER_KEY_SUCCESS: { code: 'IAM-20036', message: 'Revoke user key successful.' },
  ROLE_UPDATE_SUCCESS: { code: 'IAM-20037', message: 'The role was updated.' },
} as const
