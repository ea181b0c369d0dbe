-- A link signs its person in only while they may do what they might when it was made: of each workspace its key and their
-- role, and "operator". Links of before say nothing of that, and so work no more.
alter table console_link add column rights text;

-- Names tell the people of one workspace apart, not those of the installation. Those of before are written as new ones are:
-- NFKC, one blank between words, nothing that cannot be seen; which are then equal in a workspace get a number.
alter table console_user drop constraint console_user_name_key;
update console_user u
   set name = case when n.written = '' then 'Person ' || n.number
                   when n.number = 1 then left(n.written, 100)
                   else left(n.written, 90) || ' (' || n.number || ')' end
  from (with plain as (
          select o.user_id, o.name, o.created_at,
                 trim(regexp_replace(regexp_replace(normalize(o.name, nfkc),
                   '[\u0001-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]',
                   '', 'g'), '\s+', ' ', 'g')) as written
            from console_user o where current_setting('server_encoding') = 'UTF8')
        select p.user_id, p.name, p.written,
               1 + (select count(*) from plain q
                     where lower(q.written) = lower(p.written)
                       and (q.written <> q.name, q.created_at, q.user_id) < (p.written <> p.name, p.created_at, p.user_id)
                       and exists (select 1 from workspace_member a join workspace_member b on b.shop_key = a.shop_key
                                    where a.user_id = p.user_id and b.user_id = q.user_id)) as number
          from plain p) n
 where n.user_id = u.user_id and (n.number > 1 or n.written <> n.name);
create index console_user_name on console_user (lower(name));
