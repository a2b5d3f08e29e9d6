-- No client changes the number of rows.
SELECT COUNT(*) - :points FROM points;
